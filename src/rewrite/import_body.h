// Import of a body as a Graph, with the way back: which tensor of the body each of its values is.
#pragma once

#include <algorithm>

#include "graph/graph.h"
#include "import/flatten_graph.h"
#include "rewrite/body.h"

namespace intarsia {

struct ImportedBody {
  Graph graph;  // as import_saved_model makes it; without nodes if none of the body's could be imported
  std::map<std::string, std::string> sources;  // of values that nodes of the body make or get, by name
  /// How often what a node of the graph needs goes through nodes outside of the graph that need nodes of it,
  /// by name: no part can hold nodes of two levels, as it would need itself.
  std::map<std::string, uint32_t> levels = {};

  bool has_levels() const {
    return std::ranges::any_of(levels, [](const auto& entry) { return entry.second > 0; });
  }
};

/// Facts about the model that bodies are imported with. All of it outlives the import.
struct BodyContext {
  const tensorflow::GraphDef& graph;  // the model's own graph, and all functions
  const TensorFlowSource& source;
  const ReadSaved& read_saved;
  const std::set<std::string>& changed_variables;  // nodes of variables that some signature changes
  const std::set<std::string>& whole_functions;    // as CalledFunctions::whole

  CalledFunctions called() const { return {graph.functions, whole_functions, source}; }
};

/// Imports what the body's results need. Nodes that no program can stand for (which change variables, read
/// changed ones, or take handles of an unknown origin) are left out: what they read are outputs of the graph,
/// and what they make are inputs of it. Where the rank of one is unknown, what depends on it is left out,
/// too. Tensors that nodes outside of the graph read, such as an Assert, are outputs.
Result<ImportedBody> import_body(const Body& body, const BodyContext& context);

/// Returns the tensor of the model's own graph that a source is the handle of: "variable:0"; empty if that is
/// not known.
std::string find_handle(const Body& body, const std::map<std::string, size_t>& numbers, std::string source);

}  // namespace intarsia
