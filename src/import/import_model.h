// Turns a model file into a Graph, nothing clever.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "import/import_tensorflow.h"

namespace intarsia {

/// A model is a file with ONNX (.onnx and any other name), a frozen GraphDef (.pb), or a SavedModel folder.
enum class ModelFormat { onnx, graph_def, saved_model };
ModelFormat find_model_format(const std::string& path);
/// Fails, naming its kind and what to do, where a file is known to be something else than a model. For files
/// that cannot be read as one: a model may begin with any bytes.
Status check_file_kind(const std::string& path);
/// The file whose bytes stand for the model in digests: the model itself, or saved_model.pb in its folder.
std::string main_file(const std::string& path);

struct ImportOptions {
  std::string signature;    // of a SavedModel; empty: "serving_default", or the only one
  TensorFlowSource source;  // for TensorFlow models
};

/// Names of a model's functions: a SavedModel's signatures, else only "main".
Result<std::vector<std::string>> list_functions(const std::string& path);

/// The boundary of a TensorFlow model.
Result<ModelBoundary> read_boundary(const std::string& path, const std::string& signature);

/// See import_onnx.h and import_tensorflow.h. Errors name the model.
Result<Graph> import_model(const std::string& path, const ImportOptions& options = {});

}  // namespace intarsia
