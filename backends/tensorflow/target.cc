#include "backends/tensorflow/target.h"

#include <filesystem>
#include <map>

#include "backends/tensorflow/infer_types.h"
#include "backends/tensorflow/op_registry.h"
#include "backends/tensorflow/region_blob_generated.h"
#include "backends/tensorflow/region_session.h"
#include "backends/tensorflow/write_graph_def.h"
#include "base/flat_buffer.h"
#include "tensorflow/composite.h"

namespace intarsia {
namespace tf {
namespace {

/// Formats "Unique (node 'u', 2 more)" for each kind of operator.
std::vector<std::string> list_operators(const Graph& region) {
  std::map<std::string, std::pair<std::string, size_t>> kinds;
  for (const Node& node : region.nodes) {
    auto [at, is_new] = kinds.try_emplace(node.op, node.name, 0);
    if (!is_new) ++at->second.second;
  }
  std::vector<std::string> list;
  for (const auto& [op, uses] : kinds) {
    list.push_back(uses.second == 0 ? fmt::format("{} (node '{}')", op, uses.first)
                                    : fmt::format("{} (node '{}', {} more)", op, uses.first, uses.second));
  }
  return list;
}

std::string encode_blob(const WrittenGraph& graph, const std::vector<std::string>& op_libraries,
                        const Graph& region) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fbs::ConstantNode>> constants;
  for (uint32_t i = 0; i < graph.constant_names.size(); ++i) {
    constants.push_back(fbs::CreateConstantNode(builder, builder.CreateString(graph.constant_names[i]), i));
  }
  const auto bytes = add_bytes(builder, graph.graph_def);
  const auto nodes = builder.CreateVector(constants);
  const auto inputs = builder.CreateVectorOfStrings(graph.inputs),
             outputs = builder.CreateVectorOfStrings(graph.outputs);
  const auto initializers = builder.CreateVectorOfStrings(graph.initializers),
             libraries = builder.CreateVectorOfStrings(op_libraries);
  const auto operators = builder.CreateVectorOfStrings(list_operators(region));
  fbs::FinishRegionBlobBuffer(builder,
                              fbs::CreateRegionBlob(builder, bytes, nodes, inputs, outputs, initializers,
                                                    graph.has_control_flow, libraries, operators));
  return to_bytes(builder);
}

class TensorFlowTarget : public Target {
 public:
  TensorFlowTarget(const Library& library, const OpRegistry& registry, std::vector<std::string> op_libraries)
      : Target({.name = "tensorflow", .needs_framework = true, .makes_outputs = true, .has_one_pool = true}),
        library_(library),
        registry_(registry),
        op_libraries_(std::move(op_libraries)) {}

  std::string version() const override { return library_.version(); }

  Support supports(const Graph& graph, NodeId id, const TargetDevice&) const override {
    const Node& node = graph.node(id);
    if (node.domain != "tensorflow") return Support::refused("it is not a TensorFlow operator");
    const Result<std::optional<tensorflow::Composite>> composite = tensorflow::get_composite(node.attributes);
    if (!composite) return Support::refused(composite.error().message);
    if (!*composite) return supports_one(node.op, node.attributes);
    for (const tensorflow::NodeDef& inner : (*composite)->nodes) {
      if (const Support answer = supports_one(inner.op, inner.attributes); !answer.yes) return answer;
    }
    return Support::supported();
  }

  Status infer_types(Graph& graph, NodeId node) const override { return tf::infer_types(graph, node); }

  Result<CompiledRegion> compile(const Graph& region, const TargetDevice&,
                                 const CompileOptions& options) const override {
    WrittenGraph written = TRY(write_graph_def(region));
    CompiledRegion compiled;
    compiled.blob = encode_blob(written, op_libraries_, region);
    TRY(with_context(open_region(library_, as_region(written), options.threads),
                     "TensorFlow {} refuses the region", version()));
    compiled.constants = std::move(written.constants);
    compiled.kernels = static_cast<int>(region.nodes.size());
    return compiled;
  }

 private:
  Support supports_one(const std::string& op, const Attributes& attributes) const {
    const Result<const tensorflow::OpDef*> found = registry_.find(op);
    if (!found) return Support::refused(found.error().message);
    if (*found == nullptr)
      return Support::refused(fmt::format(
          "TensorFlow has no operator {}; if it is a custom operator, give its library with --op-library",
          op));
    return registry_.has_kernel(op, attributes);
  }

  const Library& library_;
  const OpRegistry& registry_;
  std::vector<std::string> op_libraries_;  // absolute paths
};

}  // namespace
}  // namespace tf

Result<std::unique_ptr<Target>> make_tensorflow_target(const std::vector<std::string>& op_libraries) {
  const tf::Library& library = *TRY(tf::Library::get());
  std::vector<std::string> paths;
  for (const std::string& path : op_libraries) {
    TRY(library.load_operators(path));
    std::error_code error;
    paths.push_back(std::filesystem::absolute(path, error).string());
  }
  return std::make_unique<tf::TensorFlowTarget>(library, *TRY(tf::op_registry()), std::move(paths));
}

}  // namespace intarsia
