#include "api/compile_services.h"
#include "registry/open_targets.h"

namespace intarsia {
namespace {

tl::unexpected<Error> no_halide() {
  return fail(
      ErrorKind::not_found,
      "this build has no Halide; install its wheel (pip install halide) and configure the build again");
}

}  // namespace

TargetResult open_halide_target(const CompileRequest&) { return no_halide(); }

Result<FunctionCompiler> open_function_compiler() { return no_halide(); }

Result<KernelTimer> open_kernel_timer(Arch) { return no_halide(); }

}  // namespace intarsia
