// Open sizes of different names that nodes of a model combine.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"
#include "passes/fold_constants.h"

namespace intarsia {

/// Two open sizes that a node combines.
struct JoinedSizes {
  std::string kept, joined;
  std::string node;
};

/// Finds open sizes that meet in a broadcast, a product or a concatenation, at least one of them open only by
/// default. Converters give the batch of each input a name of its own, or none.
///   %y = Add(%x : f32[a,4], %z : f32[b,4])   ->   a, and b to be joined with it
/// Types are known.
std::optional<JoinedSizes> find_sizes_to_join(const Graph& graph, const Evaluate& evaluate);

/// Replaces an open size by another one in all types, which is also to be fastest at its sizes.
void join_sizes(Graph& graph, const JoinedSizes& sizes);

}  // namespace intarsia
