// Functions that users wrote in a backend's own language, and compiled: what a program has to know of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/code/loaded_code.h"
#include "base/dim.h"
#include "base/dtype.h"
#include "base/result.h"

namespace intarsia {

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
};

/// User's function in native code.
struct UserFunction {
  std::vector<FunctionArgumentInfo> inputs, outputs;
  std::vector<FunctionSize> open_sizes;
  std::string cpu;   // CPU level that the code is for: "x86-64-v3"
  std::string blob;  // what the backend's run half makes an executable of
};

/// Part of a backend that takes users' functions.
struct FunctionCompiler {
  std::string backend;
  std::vector<std::string> objects;  // objects that users' code needs beside it
  /// Describes the function whose code has symbols that begin with `symbol`. Runs some of it, on no data.
  std::function<Result<UserFunction>(const LoadedCode& code, const std::string& symbol)> describe;
};

}  // namespace intarsia
