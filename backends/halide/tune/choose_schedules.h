// Choice of schedules: every kernel gets its schedule, by formula or by measured times of its variants, and
// constant weights get the shape that the schedule packs them into.
#pragma once

#include <vector>

#include "backends/halide/emit/emit_objects.h"

namespace intarsia::halide {

/// Returns the variants of a kernel, for typical sizes, that are worth trying, the analytic choice first.
std::vector<Kernel> kernel_variants(const Kernel& kernel, const CompileOptions& options);

/// Chooses schedules; equal kernels get equal schedules, and alternatives. Error: a variant cannot be
/// measured.
Status choose_schedules(std::vector<Call>& calls, Emitter& emitter, const EmitOptions& emit,
                        const CompileOptions& options);

}  // namespace intarsia::halide
