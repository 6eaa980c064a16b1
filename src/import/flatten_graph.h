// Flattening of a GraphDef with functions, variables and side effects into a plain Graph of what its outputs
// need.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "tensorflow/saved_model_source.h"

namespace intarsia {

/// A tensor at the model's boundary: its name in the graph ("serving_default_x:0") and to users ("x").
struct BoundaryTensor {
  std::string tensor, name;
  ValueType type;
};

/// Reads variables and tables of the SavedModel that the graph comes from.
using ReadSaved = std::function<Result<SavedContents>(const std::vector<std::string>& variables,
                                                      const std::vector<SavedTable>& tables)>;

/// Flattens the graph. `read_saved` may be empty for a frozen graph, which has no variables.
Result<Graph> flatten_graph(const tensorflow::GraphDef& graph, const std::vector<BoundaryTensor>& inputs,
                            const std::vector<BoundaryTensor>& outputs, const TensorFlowSource& source,
                            const ReadSaved& read_saved);

}  // namespace intarsia
