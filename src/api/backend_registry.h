// Registry that compiling needs: the compile halves of all backends, wired together.
#pragma once

#include <string>
#include <vector>

#include "compile/compile_request.h"

namespace intarsia {

/// Makes a registry of the backends in order of preference, with the libraries that the request names. A
/// backend that was not built, or whose library is not on this machine, comes last and refuses everything
/// with the reason and the remedy. A framework is opened only if the request allows frameworks and its list
/// of backends names it or, if that is empty, the model is in the framework's own format.
Result<BackendRegistry> make_backend_registry(const CompileRequest& request,
                                              const std::vector<std::string>& kernel_libraries);

/// Entry of intarsia_backends().
struct BackendInfo {
  std::string name, version;
  bool present = false;
  std::string why;  // reason, when not present
};
std::vector<BackendInfo> list_backends();

}  // namespace intarsia
