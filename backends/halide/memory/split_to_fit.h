// Splits of a graph in strips of rows until its workspace fits into a number of bytes.
//   a Conv whose output of 4.8 MB is alive during the peak, 2 MB   ->   the part around it in 4 strips
#pragma once

#include <functional>

#include "backends/halide/fuse/fuse.h"
#include "backends/halide/memory/plan_workspace.h"

namespace intarsia::halide {

/// A graph as its kernels will see it.
struct Draft {
  Layouts layouts;
  std::vector<Group> groups;
  std::vector<Call> calls;
};

/// Makes the kernels of a graph, without schedules, in the order in which they need least.
using MakeDraft = std::function<Draft(const Graph& graph)>;

/// Splits the parts of a canonical graph that need most, each in the way that computes least again, until the
/// values fit into `bytes`, or nothing makes them smaller. Sizes are numbers.
Graph split_to_fit(const Graph& graph, size_t bytes, const MakeDraft& make_draft);

}  // namespace intarsia::halide
