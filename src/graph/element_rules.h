// Elements of small integer tensors that are computed from sizes.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Checks whether a value of this type may have that many elements: an integer or boolean scalar or vector of
/// that size.
bool can_have_elements(const ValueType& type, size_t count);

/// Returns the value whose elements are known as numbers; nullopt if one is not.
std::optional<Tensor> tensor_of_elements(const ValueType& type);

/// Sets the elements of a node's outputs, whose types are known, as far as its inputs' types and elements
/// determine them.
///   %s = Shape(%x : f32[batch,3]); %n = Gather(%s, 0)   ->   %s : i64[2]<batch,3>, %n : i64[]<batch>
/// Elements that are not known, or whose arithmetic may differ from that of sizes, are unknown.
void infer_elements(Graph& graph, const Node& node);

}  // namespace intarsia
