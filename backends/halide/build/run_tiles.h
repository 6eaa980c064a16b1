// Loops, or work items of a device, that run the register tiles of a kernel's output (Mapping).
#pragma once

#include "backends/halide/build/build_kernel.h"

namespace intarsia::halide {

/// Turns each iteration of the loops `outer` into a work item, and returns the loop over the items. `outer`
/// lists the innermost loop first, without those that stay inside a work item.
Var make_items(const KernelBuilder& builder, Halide::Stage stage, const std::vector<Var>& outer);

/// Turns each iteration of the loops `outer`, in the same order, into a group of work items, and returns the
/// loop over the groups. What the items of a group are is left to the caller.
Var make_groups(const KernelBuilder& builder, Halide::Stage stage, const std::vector<Var>& outer);

/// Leaves the output's loops outside of a tile as loops or turns them into work items. `outer` lists them in
/// the order that they have, the innermost first. Returns the level at which what only this tile needs is
/// computed.
Halide::LoopLevel run_tiles(const KernelBuilder& builder, Func out, const std::vector<Var>& outer);

/// Does the same for a variant of the output's code, `stage`. The level is the same for all variants.
Halide::LoopLevel run_tiles(const KernelBuilder& builder, Func out, Halide::Stage stage,
                            const std::vector<Var>& outer);

}  // namespace intarsia::halide
