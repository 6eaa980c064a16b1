// A GraphDef with functions, variables and side effects becomes a plain Graph of what its outputs need.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "tensorflow/saved_model_source.h"

namespace intarsia {

/// A tensor at the model's border: its name in the graph ("serving_default_x:0") and to users ("x").
struct BorderTensor {
  std::string tensor, name;
  ValueType type;
};

/// `state` may be null: a frozen graph, which has no variables.
Result<Graph> flatten_graph(const tensorflow::GraphDef& graph, const std::vector<BorderTensor>& inputs,
                            const std::vector<BorderTensor>& outputs, const TensorFlowSource& source, SavedModelState* state);

}  // namespace intarsia
