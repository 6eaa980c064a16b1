// Splitting a model into pieces, each a model of its own, and the pipeline that they form.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "graph/graph.h"

namespace intarsia {

/// Writes into the folder, which is created, `stage0.onnx`, `stage1.onnx`, ... with their weights, and
/// `pipeline.json`, which connects the programs `stage0.so`, ... that they are compiled to. Stages end at the
/// values `cuts` (cut_graph.h); a stage's inputs and outputs have the names of the model's values. The
/// pipeline is written last. Returns a report of the files. Errors: a cut that cuts nothing off; operators
/// that ONNX does not have; a stage with more than 2 GiB of weights; a file that cannot be written.
Result<nlohmann::ordered_json> split_model(const Graph& graph, const std::vector<std::string>& cuts,
                                           const std::string& folder);

}  // namespace intarsia
