// Placement: the target of each node.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "target/target.h"

namespace intarsia {

/// Place where nodes can run: `halide@cpu`.
struct PlacementTarget {
  const Target* backend = nullptr;
  uint32_t slot = 0;
  std::string name;       // "halide@cpu"
  TargetDevice device{};  // device of the slot
  /// Whether it runs pinned nodes only: no others are placed or moved there, as their times would mean
  /// nothing.
  bool takes_only_pinned = false;
};

/// Target of a node that has none.
inline constexpr uint32_t no_target = 0xffffffff;

/// User's demand that nodes whose names match the shell pattern run on the target, or on any backend of a
/// slot ("@accel"). A later pin wins.
struct Pin {
  std::string pattern;
  std::string target;
};

/// Target of each node, and more about it; vectors are indexed by node.
struct Placement {
  std::vector<uint32_t> target;                    // index into the targets
  std::vector<std::string> reason;                 // reason why it is there
  std::vector<std::vector<std::string>> refusals;  // refusals of backends: "halide: no kernel for Einsum"
  std::vector<bool> pinned;                        // whether it is pinned and never moves; empty if none is
  std::vector<uint32_t>
      group;  // lowest node of those that one region must hold together; empty if each is alone
  std::vector<uint32_t> stage = {};  // stage of a pipeline; values flow to later ones only. Empty: one stage
  /// Rank in the order in which nodes were scheduled: executors and links do their work in this order. Empty
  /// if nodes were not scheduled.
  std::vector<uint32_t> rank = {};
};

}  // namespace intarsia
