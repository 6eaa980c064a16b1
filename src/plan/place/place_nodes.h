// Choice of the target (a backend on a device slot) that runs each node.
#pragma once

#include <map>

#include "plan/placement.h"

namespace intarsia {

inline constexpr const char* allow_more_backends =
    "Allow more backends (--backends, --fallback auto) or bring kernels (--kernels)";

/// Places each node on the target that it is pinned to, by the user or else by the model (`in_model`: targets
/// that support their nodes), else on the first that supports it. Errors: a node that no target supports (all
/// such operators are listed), a pin that names no target or no node, a pin to a target that cannot run the
/// node. `remedy` ends the first of these.
Result<Placement> place_nodes(const Graph& graph, const std::vector<PlacementTarget>& targets,
                              const std::vector<Pin>& pins, const std::map<NodeId, uint32_t>& in_model = {},
                              const std::string& remedy = allow_more_backends);

}  // namespace intarsia
