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

/// Reads a subgraph in an attribute (a serialized AttributeProto) of a node of `outer` as a graph: its inputs
/// are the subgraph's, whose types are the subgraph's claims, and then the values of `outer` that it reads,
/// by the same names. Constants of `outer` are constants; other values have no types yet. Errors: as for a
/// model; calls of model-local functions stay as they are.
Result<Graph> import_onnx_body(const Graph& outer, NodeId node, std::string_view attribute);

}  // namespace intarsia
