#include "api/compile_services.h"
#include "backends/halide/emit/glue_object.h"
#include "backends/halide/functions/function_compiler.h"
#include "backends/halide/target.h"
#include "base/cpu_level.h"
#include "registry/open_targets.h"

namespace intarsia {

TargetResult open_halide_target(const CompileRequest& request) {
  return halide::make_target(TRY(resolve_cpu(request.cpu)).arch);
}

Result<FunctionCompiler> open_function_compiler() { return halide::make_function_compiler(); }

Result<KernelTimer> open_kernel_timer(Arch arch) { return halide::kernel_timer(arch); }

}  // namespace intarsia
