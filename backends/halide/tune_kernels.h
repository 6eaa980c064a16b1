// Chooses among variants of kernels by measured times, which the tuner's database keeps.
#pragma once

#include <vector>

#include "backends/halide/isa.h"
#include "backends/halide/kernel.h"
#include "target/target.h"

namespace intarsia::halide {

/// For each kernel the number of its fastest variant; 0, the analytic choice, where times are equal within noise or
/// there is no time left to measure. The same database gives the same choice.
Result<std::vector<size_t>> tune_kernels(const std::vector<std::vector<Kernel>>& variants, const Isa& isa,
                                         const CompileOptions& options);

}  // namespace intarsia::halide
