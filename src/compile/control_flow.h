// Nodes that run subgraphs (If, Loop, Scan) as steps of a program: which values they pass to their bodies.
#pragma once

#include <string_view>

#include "passes/fold_constants.h"
#include "passes/infer_shapes.h"

namespace intarsia {

/// A branch or a loop. `Step` in program.fbs says in which order values are passed.
///   %y = If(%c) {then: Add(%a, %b); else: Neg(%a)}   ->   inputs %c, %a, %b, %a
///   %y = Loop(%m, %c, %v) {body: Add(%v, %a)}         ->   inputs %m, %c, %v, %a
struct ControlFlow {
  bool is_loop = false;
  bool has_trip_count = false, has_condition = false;
  bool checks_condition = false;      // whether the body's first output is whether to go on
  uint32_t carried = 0, scanned = 0;  // numbers of such values of a loop
  std::vector<Graph> bodies;          // with types, as far as those of the inputs tell
  std::vector<ValueId> inputs;        // values of the graph with the node
  std::vector<ValueType> outputs;     // types of the node's outputs
};

/// Operators that read_control_flow() may read.
inline constexpr std::string_view control_flow_operators[] = {"If", "Loop", "Scan"};
/// Checks for one of these.
bool has_control_flow(const Node& node);

/// Reads the node's subgraphs and infers their types. Errors: a form that no step runs, such as strings, or a
/// subgraph that is not valid.
Result<ControlFlow> read_control_flow(const Graph& graph, NodeId node, const Evaluate& evaluate,
                                      const InferForeign& infer_foreign);

}  // namespace intarsia
