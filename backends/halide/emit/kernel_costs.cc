#include "backends/halide/emit/kernel_costs.h"

namespace intarsia::halide {

std::string cost_key(const Kernel& kernel, const CompileOptions& options) {
  return fmt::format("halide {} {} threads {} {}", INTARSIA_HALIDE_VERSION, code_generation, options.threads,
                     kernel.text());
}

}  // namespace intarsia::halide
