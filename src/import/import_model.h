// Import of a model file into a Graph, without optimization.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "import/import_tensorflow.h"

namespace intarsia {

/// Format of a model: an ONNX file (.onnx and any other name), a frozen GraphDef (.pb), or a SavedModel
/// folder.
enum class ModelFormat { onnx, graph_def, saved_model };
ModelFormat find_model_format(const std::string& path);
/// Fails if a file is known to be something other than a model, naming its kind and a remedy. Call it for
/// files that could not be read as a model, since a model may start with any bytes.
Status check_file_kind(const std::string& path);
/// Returns the file whose bytes stand for the model in digests: the model itself, or saved_model.pb in its
/// folder.
std::string main_file(const std::string& path);

struct ImportOptions {
  std::string signature;    // signature of a SavedModel; empty for "serving_default", or the only one
  TensorFlowSource source;  // used for TensorFlow models
};

/// Returns the names of a model's functions: a SavedModel's signatures, else only "main".
Result<std::vector<std::string>> list_functions(const std::string& path);

/// Reads the boundary of a TensorFlow model.
Result<ModelBoundary> read_boundary(const std::string& path, const std::string& signature);

/// Imports a model; see import_onnx.h and import_tensorflow.h. Errors name the model.
Result<Graph> import_model(const std::string& path, const ImportOptions& options = {});

}  // namespace intarsia
