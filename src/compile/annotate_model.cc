#include "compile/annotate_model.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "base/bytes.h"
#include "base/files/mapped_file.h"
#include "base/files/output_file.h"
#include "import/import_model.h"
#include "import/write_annotations.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

/// Finds the node of the file that a node of the graph comes from.
class NodeOrigins {
 public:
  explicit NodeOrigins(const std::vector<FileNode>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const FileNode& node = nodes[i];
      for (const std::string& output : node.outputs) by_output_.emplace(output, i);
      by_name_.emplace(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name, i);
    }
  }

  /// Finds the origin by the node's outputs, else by the call it was inlined from: "block#2/conv" belongs to
  /// "block".
  std::optional<size_t> find(const Graph& graph, const Node& node) const {
    for (ValueId output : node.outputs) {
      if (output == no_value) continue;
      const auto origin = by_output_.find(graph.value(output).name);
      if (origin != by_output_.end()) return origin->second;
    }
    for (size_t at = node.name.find('#'); at != std::string::npos; at = node.name.find('#', at + 1)) {
      const auto call = by_name_.find(node.name.substr(0, at));
      if (call != by_name_.end()) return call->second;
    }
    return std::nullopt;
  }

 private:
  std::unordered_map<std::string, size_t> by_output_, by_name_;
};

/// Returns, for each node of the file, the name of its target; empty if no node of the plan comes from it.
Result<std::vector<std::string>> find_places(const PlannedFunction& function,
                                             const std::vector<FileNode>& nodes) {
  const Graph& graph = function.problem->graph;
  const NodeOrigins origins(nodes);
  std::vector<std::string> places(nodes.size());
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const std::optional<size_t> origin = origins.find(graph, graph.nodes[i]);
    const std::string& target =
        function.problem->targets[function.chosen.plan.placement.nodes[i].target].name;
    if (!origin)
      return fail(
          "node '{}' is not in the file as a node of its own: keep the plan in a file (compile "
          "--save-plan)",
          graph.nodes[i].name);
    std::string& place = places[*origin];
    if (!place.empty() && place != target)
      return fail(
          "nodes of the function that '{}' calls run on {} and on {}, and a call has one place: keep the "
          "plan in a file (compile --save-plan)",
          nodes[*origin].name, place, target);
    place = target;
  }
  return places;
}

Status check_target(std::string_view bytes, const std::string& model, const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::absolute(model, error).parent_path();
  std::vector<std::string> inputs{model};
  for (const std::string& file : TRY(find_external_files(bytes))) inputs.push_back((folder / file).string());
  TRY(check_output(path, inputs));
  if (inputs.size() == 1 || fs::equivalent(folder, fs::absolute(path, error).parent_path(), error)) return {};
  return fail(
      "its weights are in files beside it, which the copy refers to: write it to the same folder '{}'",
      folder.string());
}

}  // namespace

Status annotate_model(const PlannedFunction& function, const std::string& model, const std::string& path) {
  if (find_model_format(model) != ModelFormat::onnx)
    return fail(
        "model '{}' is TensorFlow's and has no place for a plan; keep it in a file (compile --save-plan)",
        model);
  const MappedFile file = TRY(map_file(model));
  const std::string_view bytes = as_text(file.bytes);
  TRY(with_context(check_target(bytes, model, path), "model '{}'", model));
  const std::vector<FileNode> nodes = TRY(with_context(read_file_nodes(bytes), "model '{}'", model));
  const std::vector<std::string> places =
      TRY(with_context(find_places(function, nodes), "model '{}'", model));
  const BytePieces annotated = TRY(with_context(write_annotations(bytes, places), "model '{}'", model));
  OutputFile out = TRY(OutputFile::create(path));
  for (std::string_view piece : annotated.pieces()) TRY(out.write(std::as_bytes(std::span(piece))));
  return out.commit();
}

}  // namespace intarsia
