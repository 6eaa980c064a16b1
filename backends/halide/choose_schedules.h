// Step 6: every kernel gets its schedule, by formula or by measured times of its variants, and constant weights the
// shape that the schedule packs them into.
#pragma once

#include <vector>

#include "backends/halide/isa.h"
#include "backends/halide/kernel.h"
#include "target/target.h"

namespace intarsia::halide {

/// The ways to compute a kernel that are worth a try, the analytic choice first.
std::vector<Kernel> kernel_variants(const Kernel& kernel, const Isa& isa, const CompileOptions& options);

/// Equal kernels get equal schedules. Error: a variant does not compile or cannot be measured.
Status choose_schedules(std::vector<Call>& calls, const Isa& isa, const CompileOptions& options);

}  // namespace intarsia::halide
