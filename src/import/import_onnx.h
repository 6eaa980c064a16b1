// Import of an ONNX file into a Graph.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "graph/graph.h"

namespace intarsia {

/// Reads an ONNX model (opsets up to the newest of the pinned onnx wheel; operators older than opset 7 are
/// foreign). Initializers are views of the mapped file where their alignment allows; model-local functions
/// are inlined; Constant nodes become constants; an operator that the op table lacks stays as it is
/// (foreign). Sizes that the model leaves open become symbols: their own name, or "<input>_dim<axis>". The
/// nodes are sorted; the graph passes verify_graph.
Result<Graph> import_onnx(const std::string& path);

/// Reads a model from bytes in memory, which are copied; external data is an error.
Result<Graph> import_onnx_bytes(std::string_view bytes);

}  // namespace intarsia
