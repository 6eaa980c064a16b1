// Open sizes that the model itself fixes, against what its inputs say.
#pragma once

#include <optional>
#include <string>

#include "graph/graph.h"

namespace intarsia {

/// Open size for which a node works with one number alone.
struct PinnedSize {
  std::string symbol;
  int64_t value = 0;
  std::string node;
  std::string why;  // "reshapes [batch,4] to [1,4]"
};

/// Finds an open size that a Reshape pins: exporters write the batch that they traced with as a number into
/// it. Types are known.
///   %y : f32[1,4] = Reshape(%x : f32[batch,4], [1,4])   ->   batch is 1
std::optional<PinnedSize> find_pinned_size(const Graph& graph);

/// Replaces an open size by a number in all types.
void fix_open_size(Graph& graph, const std::string& symbol, int64_t value);

}  // namespace intarsia
