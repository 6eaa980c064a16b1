// Groups that keep values which only a framework understands inside one region of it.
#pragma once

#include "plan/placement.h"

namespace intarsia {

/// Groups nodes so that strings, sequences, optionals and resources that one node of a framework produces and
/// another node of the same target reads never leave a region: the two nodes, and every node on a path
/// between them, form a group of opaque values. Its nodes move to the framework (the reason names the value
/// that passes) and get one `group`, which partition_graph keeps in one region. Groups that would read from
/// each other in a cycle become one, so that the graph of groups has no cycle. Other nodes stay where they
/// are.
///   s = Split@ort(x); n = Relu@halide(s[0]); y = Join@ort(s, n), s a sequence  =>  all three @ort, one group
/// Where the framework refuses a node in between, groups that need it are left open and the reader's reason
/// says so, if the framework hands such values over between its regions (Target::hands_over). Errors name
/// both nodes, the value and the node in between: it is pinned elsewhere, or refused and the value cannot be
/// handed over. Linear in nodes and edges for each round of moves; moves that pass more such values make
/// further rounds.
Status group_opaque_values(const Graph& graph, const std::vector<PlacementTarget>& targets,
                           Placement& placement);

/// Checks whether values of the type are opaque; strings are, too: a framework has its own form of them.
bool is_opaque(const ValueType& type);

}  // namespace intarsia
