// What runs the register tiles of a kernel's output: loops, or work items of a device (Mapping).
#pragma once

#include "backends/halide/build/build_kernel.h"

namespace intarsia::halide {

/// Each iteration of the loops `outer` (the innermost first; those that stay inside a work item are not among
/// them) becomes a work item. Gives the loop of that item.
Var make_items(const KernelBuilder& builder, Halide::Stage stage, const std::vector<Var>& outer);

struct GroupLoops {
  Var group, item;
};
/// The same, in groups whose items differ in the loops `shared_by` alone, and have all of `others` in common.
GroupLoops make_groups(const KernelBuilder& builder, Halide::Stage stage, const std::vector<Var>& shared_by,
                       const std::vector<Var>& others);

/// `outer`: the output's loops outside of a tile, the innermost first, in the order that they have. They stay
/// loops or become work items. Gives where what only this tile needs is computed.
Halide::LoopLevel run_tiles(const KernelBuilder& builder, Func out, const std::vector<Var>& outer);

}  // namespace intarsia::halide
