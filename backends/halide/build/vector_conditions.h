// Conditions of vectors in code for RISC-V.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// Makes a vector of the condition by which a pipeline selects one of two vectors: for RISC-V, Halide 21
/// generates invalid code where it is a single one.
void make_conditions_vectors(Halide::Pipeline& pipeline);

}  // namespace intarsia::halide
