// Choice among variants of kernels by measured times, which the tuner's database keeps.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "backends/halide/emit/emit_objects.h"

namespace intarsia::halide {

/// Function that returns variants to try in addition; `sorted` has the known ones, at least one, the fastest
/// first.
using MoreVariants = std::function<std::vector<Kernel>(std::span<const Kernel> sorted)>;

/// Measures each kernel's variants, then those that `more_of` adds. Sorts all, the fastest first; the
/// analytic choice stays first if times are equal within noise or no time is left to measure. Variants whose
/// code is too expensive to generate are dropped, unless all of them are. The same database gives the same
/// order.
Status tune_kernels(std::vector<std::vector<Kernel>>& variants, const MoreVariants& more_of, Emitter& emitter,
                    const EmitOptions& emit, const CompileOptions& options);

}  // namespace intarsia::halide
