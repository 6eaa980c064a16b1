// Memory that a compiled kernel takes from halide_malloc.
#pragma once

#include <Halide.h>

#include <set>
#include <string>

#include "backends/halide/build/even_tiles.h"
#include "base/dim.h"

namespace intarsia::halide {

/// Bounds on the bytes that one thread holds at a time inside a call, including alignment: the sum over all
/// functions of the module of their deepest nests of heap allocations.
struct ScratchBytes {
  size_t fixed = 0;  // of allocations whose sizes are constants
  Dim all = 0;       // of all, as an expression of the kernel's open sizes; unknown if none is found
};

/// Finds the bounds; `symbols` are the names of the kernel's open sizes, `tiles` what its code takes beside
/// them, if anything, and `routine_blocks` the bytes of blocks that its routine holds.
ScratchBytes scratch_bytes(const Halide::Module& module, const std::set<std::string>& symbols,
                           const EvenTiles* tiles, const std::vector<Dim>& routine_blocks);

}  // namespace intarsia::halide
