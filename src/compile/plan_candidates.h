// Plans that could be faster than the one that placing made.
#pragma once

#include "compile/compile_model.h"

namespace intarsia {

/// A region of a backend of ours among regions of a framework that could run it, too, on the same device.
struct Island {
  uint32_t region = 0;
  uint32_t framework = 0;  // target
};

/// Frameworks and other backends both run regions: there is something to choose.
bool is_mixed(const CompileResult& plan);

/// Regions that exchange values with a framework's region, hold no pinned node and run no kernel that the
/// user brought; with several frameworks, the one that a region exchanges most with. A framework that refuses
/// one of the nodes is none.
std::vector<Island> find_islands(const CompileResult& plan);

/// The same regions and steps, with the islands run by their frameworks, each as a region alone: made to time
/// them.
CompileResult hand_over_islands(const CompileResult& plan, const std::vector<Island>& islands);

/// Everything on `framework` but what is pinned elsewhere or is a kernel of the user's; nothing when it
/// refuses a node, or has all of them already.
std::optional<Placement> place_all_on(const CompileResult& plan, uint32_t framework);

/// The first target of each framework that runs regions of the plan.
std::vector<uint32_t> frameworks_of(const CompileResult& plan);

}  // namespace intarsia
