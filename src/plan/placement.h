// Placement: where each node of a graph runs.
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

/// Where a node runs.
struct PlacedNode {
  uint32_t target = no_target;             // index into the targets
  std::string reason = {};                 // reason why it is there
  std::vector<std::string> refusals = {};  // refusals of backends: "halide: no kernel for Einsum"
  bool pinned = false;                     // whether the user's demand, or the model's, never lets it move
  uint32_t group = 0;                      // lowest node of those that one region must hold together with it
  uint32_t open_size = 0;                  // number of the sizes that nodes of its region share; 0: any
  uint32_t stage = 0;                      // stage of a pipeline; values flow to later ones only
  uint32_t rank = 0;  // place in the order of a schedule; 0 where nodes are not scheduled
};

/// Place of each node of a graph.
struct Placement {
  std::vector<PlacedNode> nodes;  // indexed by node
  bool is_staged = false;         // whether nodes are in stages of a pipeline; if not, all are in stage 0
  /// Whether nodes are scheduled: executors and links do their work in the order of ranks.
  bool is_scheduled = false;

  Placement() = default;
  /// Places the nodes on their targets, each a group of its own.
  explicit Placement(const std::vector<uint32_t>& target_of) : nodes(target_of.size()) {
    set(&PlacedNode::target, target_of);
    leave_groups();
  }

  PlacedNode& operator[](NodeId node) { return nodes[index(node)]; }
  const PlacedNode& operator[](NodeId node) const { return nodes[index(node)]; }

  std::vector<uint32_t> targets() const { return list(&PlacedNode::target); }
  std::vector<uint32_t> stages() const { return list(&PlacedNode::stage); }

  /// Makes each node a group of its own.
  void leave_groups() {
    for (uint32_t i = 0; i < nodes.size(); ++i) nodes[i].group = i;
  }
  /// Puts each node into its stage of a pipeline.
  void divide(const std::vector<uint32_t>& stage_of) {
    set(&PlacedNode::stage, stage_of);
    is_staged = true;
  }
  /// Puts all nodes into one stage.
  void undivide() {
    for (PlacedNode& node : nodes) node.stage = 0;
    is_staged = false;
  }
  void schedule(const std::vector<uint32_t>& rank_of) {
    set(&PlacedNode::rank, rank_of);
    is_scheduled = true;
  }

 private:
  using Number = uint32_t PlacedNode::*;
  std::vector<uint32_t> list(Number number) const {
    std::vector<uint32_t> numbers;
    for (const PlacedNode& node : nodes) numbers.push_back(node.*number);
    return numbers;
  }
  void set(Number number, const std::vector<uint32_t>& numbers) {
    for (size_t i = 0; i < nodes.size(); ++i) nodes[i].*number = numbers[i];
  }
};

}  // namespace intarsia
