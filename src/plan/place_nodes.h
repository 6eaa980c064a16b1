// Decides which target (a backend on a device slot) runs each node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "target/target.h"

namespace intarsia {

/// A place where nodes can run: `halide@cpu`.
struct PlacementTarget {
  const Target* backend = nullptr;
  uint32_t slot = 0;
  std::string name;       // "halide@cpu"
  TargetDevice device{};  // of the slot
  /// Nothing else is placed there, or moved there by a plan: its times would mean nothing.
  bool takes_only_pinned = false;
};

/// A user's demand: nodes whose name matches the shell pattern run on the target. A later pin wins.
struct Pin {
  std::string pattern;
  std::string target;
};

/// One entry a node.
struct Placement {
  std::vector<uint32_t> target;                    // index into the targets
  std::vector<std::string> reason;                 // why there
  std::vector<std::vector<std::string>> refusals;  // "halide: no kernel for Einsum"
  std::vector<bool> pinned;                        // by the user, never moved; empty: none is
  std::vector<uint32_t>
      group;  // the lowest node of those that one region holds together; empty: each is alone
  std::vector<uint32_t> stage = {};  // of a pipeline; values only flow to later ones. Empty: there is one
};

/// Each node goes to the target it is pinned to, by the user or else by the model (`in_model`: targets that
/// support their nodes), else to the first that supports it. Errors: a node that no
/// target supports (all such operators are listed), a pin that names no target or no node, a pin to a target
/// that cannot.
Result<Placement> place_nodes(const Graph& graph, const std::vector<PlacementTarget>& targets,
                              const std::vector<Pin>& pins, const std::map<NodeId, uint32_t>& in_model = {});

}  // namespace intarsia
