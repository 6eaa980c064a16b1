// Chooses among variants of kernels by measured times, which the tuner's database keeps.
#pragma once

#include <vector>

#include "backends/halide/emit/emit_objects.h"

namespace intarsia::halide {

/// Sorts each kernel's variants, the fastest first; the analytic choice stays first where times are equal
/// within noise or there is no time left to measure. Variants whose code is too expensive to generate are
/// dropped, unless they all are. The same database gives the same order.
Status tune_kernels(std::vector<std::vector<Kernel>>& variants, Emitter& emitter, const EmitOptions& emit,
                    const CompileOptions& options);

}  // namespace intarsia::halide
