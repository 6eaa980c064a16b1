// Functions that users wrote in a backend's own language, and compiled: what a program has to know of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/code/loaded_code.h"
#include "base/dim.h"
#include "base/dtype.h"
#include "base/result.h"

namespace intarsia {

/// Beginning of the symbols of a user's function, before its name.
inline constexpr std::string_view user_function_prefix = "intarsia_function_";

/// Input or output of a user's function.
struct FunctionArgumentInfo {
  std::string name;
  DType dtype = DType::undefined;
  std::vector<Dim> shape;  // sizes over the function's symbols
};

/// Size of inputs that is open until a run.
struct FunctionSize {
  std::string name;
  int64_t min = 0;
  std::vector<int64_t> tuned = {};  // sizes to be fastest at; set by whoever makes a program of it
};

/// User's function in native code.
struct UserFunction {
  std::vector<FunctionArgumentInfo> inputs, outputs;
  std::vector<FunctionSize> open_sizes;
  std::string cpu;   // CPU level that the code is for: "x86-64-v3"
  std::string blob;  // what the backend's run half makes an executable of
};

/// Object file of a function.
struct FunctionObject {
  std::string name;    // name of the function in the program; letters, digits and underscores
  std::string object;  // bytes of an ELF relocatable file that defines the function's symbols
};

/// Generators of functions in a library of the user.
struct GeneratorRequest {
  std::string library;                       // path
  std::vector<std::string> generators = {};  // "NAME" or "NAME/PARAMETER=VALUE/..."; empty: all
  std::string cpu = "native";                // CPU level to generate code for
};

/// Part of a backend that takes users' functions.
struct FunctionCompiler {
  std::string backend;
  std::vector<std::string> objects;  // objects that users' code needs beside it
  /// Describes the function whose code has symbols that begin with `symbol`. Runs some of it, on no data.
  std::function<Result<UserFunction>(const LoadedCode& code, const std::string& symbol)> describe;
  /// Compiles generators. The library's code runs in another process.
  std::function<Result<std::vector<FunctionObject>>(const GeneratorRequest& request)> generate;
};

}  // namespace intarsia
