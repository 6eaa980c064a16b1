// Lets a pipeline read an input through its output's buffer. Halide tells LLVM that loads and stores of
// different buffers never touch the same memory; where they do, only using one name keeps them in order.
#pragma once

#include <Halide.h>

#include <string>

namespace intarsia::halide {

/// Turns every load of `input` into one of `output` at the same address; both have the same type, sizes and
/// strides. `input` may be the output itself: an update that reads it does so through a name, which Halide
/// takes for memory of its own, aligned to vectors.
void load_from_output(Halide::Pipeline& pipeline, const std::string& input, Halide::Func output);

}  // namespace intarsia::halide
