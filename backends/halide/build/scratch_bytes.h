// How much memory a compiled kernel takes from halide_malloc.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// The most bytes that one thread holds at a time inside a call: the deepest nest of heap allocations over
/// all functions of the module, including alignment. Sizes that are not constants count as nothing (the
/// run half falls back to malloc for them).
size_t scratch_bytes(const Halide::Module& module);

}  // namespace intarsia::halide
