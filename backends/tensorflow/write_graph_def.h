// Conversion of a region of TensorFlow's own operators back to a GraphDef.
#pragma once

#include <string>
#include <vector>

#include "backends/tensorflow/region_session.h"
#include "graph/graph.h"

namespace intarsia::tf {

/// Limit on constants in the GraphDef; larger ones are in the program.
inline constexpr size_t max_inline_bytes = 256;

struct WrittenGraph {
  std::string graph_def;                     // GraphDef without the constants below
  std::vector<std::string> constant_names;   // Const nodes to add,
  std::vector<Tensor> constants;             // values of those nodes
  std::vector<std::string> inputs, outputs;  // tensors "name:0", as the region's inputs and outputs
  std::vector<std::string> initializers;     // nodes that fill the tables and variables
  bool has_control_flow = false;
};

/// Returns the region to be opened; `written` must outlive it.
RegionGraph as_region(const WrittenGraph& written);

/// Writes a region. Nodes keep their names where they are legal and unique. Inputs become Placeholders with
/// the types that are known. A node that stands for several is written as those, a loop so that it carries
/// few constants (loop_constants.h). Fails for a node that is not TensorFlow's and for an opaque input.
Result<WrittenGraph> write_graph_def(const Graph& region);

}  // namespace intarsia::tf
