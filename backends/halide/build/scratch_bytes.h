// Memory that a compiled kernel takes from halide_malloc.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// Returns a bound on the bytes that one thread holds at a time inside a call: the sum over all functions of
/// the module of their deepest nests of heap allocations, including alignment. Sizes that are not constants
/// count as zero (the run half falls back to malloc for them).
size_t scratch_bytes(const Halide::Module& module);

}  // namespace intarsia::halide
