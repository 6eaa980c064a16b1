// Services that compiling needs: the compile halves of all backends, and what they rely on.
#pragma once

#include <string>
#include <vector>

#include "base/architecture.h"
#include "compile/compile_request.h"
#include "target/function_compiler.h"
#include "target/kernel_timer.h"

namespace intarsia {

/// Makes services with the backends in order of preference, and the libraries that the request names. A
/// backend that was not built, or whose library is not on this machine, comes last and refuses everything
/// with the reason and the remedy. A framework is opened only if the request allows frameworks and its list
/// of backends names it or, if that is empty, the model is in the framework's own format.
Result<CompileServices> make_compile_services(const CompileRequest& request,
                                              const std::vector<std::string>& kernel_libraries);

/// Returns what takes functions that users wrote with Halide. Error: this build has no Halide.
Result<FunctionCompiler> open_function_compiler();

/// Returns the program that times kernels of ours on machines of an architecture. Error: this build has no
/// Halide, or was made where no compiler for that architecture was installed.
Result<KernelTimer> open_kernel_timer(Arch arch);

/// Entry of intarsia_backends().
struct BackendInfo {
  std::string name, version;
  bool present = false;
  std::string why;  // reason, when not present
};
std::vector<BackendInfo> list_backends();

}  // namespace intarsia
