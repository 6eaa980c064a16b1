#include "backends/halide/emit/kernel_costs.h"

#include "backends/halide/emit/code_generation.h"
#include "base/digest.h"

namespace intarsia::halide {

CostKey cost_key(const Kernel& kernel, const CompileOptions& options) {
  return {.kind = CostKind::kernel,
          .digest = content_digest(kernel.text()),
          .backend = "halide",
          .version = INTARSIA_HALIDE_VERSION,
          .code = std::string(code_generation),
          .device = options.timed_on,
          .threads = options.threads,
          .precision = std::string(dtype_name(kernel.output.dtype))};
}

}  // namespace intarsia::halide
