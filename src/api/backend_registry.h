// What compiling is made with: the compile halves of all backends, wired together.
#pragma once

#include <string>
#include <vector>

#include "compile/compile_request.h"

namespace intarsia {

/// The backends in order of preference, with the libraries that the request names. A backend that was not
/// built, or whose library is not on this machine, stands at the end and refuses everything with the reason
/// and the remedy. A framework is opened only when the request allows frameworks and either its backends
/// name it or, if they name none, the model is of its own kind.
Result<BackendRegistry> make_backend_registry(const CompileRequest& request,
                                              const std::vector<std::string>& kernel_libraries);

/// For intarsia_backends.
struct BackendInfo {
  std::string name, version;
  bool present = false;
  std::string why;  // when not present
};
std::vector<BackendInfo> list_backends();

}  // namespace intarsia
