// Conversion of the structs of intarsia_compile.h to ours.
#pragma once

#include <string>
#include <vector>

#include "compile/compile_request.h"
#include "include/intarsia/intarsia_compile.h"

namespace intarsia::api {

struct ReadRequest {
  CompileRequest request;
  std::vector<std::string> kernels;  // paths of kernel libraries
  Progress progress;
  std::function<void(const std::string&)> print;
  std::function<bool()> is_cancelled;
};

/// Copies the list; a null item is an error that names `option`.
Result<std::vector<std::string>> read_strings(const intarsia_strings& from, const char* option);

/// Reads a request and checks what needs no model: syntax, pass names, threads. Errors name the option as the
/// command line does.
Result<ReadRequest> read_request(const intarsia_compile_request& from);

/// Reads a request for code that is called while it is compiled: for one CPU of this machine's architecture.
/// `what` is that code in errors: "functions".
Result<ReadRequest> read_one_cpu(const intarsia_compile_request& from, const char* what);

}  // namespace intarsia::api
