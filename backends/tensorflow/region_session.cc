#include "backends/tensorflow/region_session.h"

#include "base/protobuf.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"
#include "tensorflow/messages.h"
#include "tensorflow/tensor_proto.h"

namespace intarsia::tf {
namespace {

using namespace tensorflow;

/// Returns the version of operators that this TensorFlow writes: that of an empty graph.
Result<int32_t> graph_version(const Library& library) {
  const SessionGraph graph(library);
  TF_Buffer* buffer = library.api().new_buffer();
  CallStatus status(library);
  library.api().export_graph(graph, buffer, status);
  int32_t version = 0;
  protozero::pbf_reader message =
      read_message({static_cast<const char*>(buffer->data), status.check() ? buffer->length : 0});
  while (message.next()) {
    if (message.tag() != graph_def::versions) {
      message.skip();
      continue;
    }
    protozero::pbf_reader versions = message.get_message();
    if (versions.next(versions::producer)) version = versions.get_int32();
  }
  library.api().delete_buffer(buffer);
  TRY(status.check());
  return version;
}

}  // namespace

Result<std::string> complete_graph(const Library& library, const RegionGraph& region) {
  if (region.constant_names.size() != region.constants.size()) {
    return fail("the region wants {} constants, got {}", region.constant_names.size(),
                region.constants.size());
  }
  size_t bytes = region.graph_def.size();
  for (const ConstTensorView& constant : region.constants) bytes += constant.bytes();
  if (bytes > largest_message)
    return fail("the region's weights take {} bytes, TensorFlow takes graphs up to 2 GiB", bytes);
  std::string graph;
  graph.reserve(bytes + 256 * region.constants.size() + 64);
  graph.append(region.graph_def);
  protozero::pbf_writer out(graph);
  for (size_t i = 0; i < region.constants.size(); ++i) {
    NodeDef node{region.constant_names[i], "Const", {}, {}, {}};
    std::map<std::string, std::string> attributes;
    attributes["dtype"] = encode_type(data_type_of(region.constants[i].dtype)).bytes;
    protozero::pbf_writer value(attributes["value"]);
    value.add_message(attr_value::tensor, TRY(write_tensor(region.constants[i])));
    out.add_message(graph_def::node, write_node(node, attributes));
  }
  {
    const int32_t version = TRY(graph_version(library));
    protozero::pbf_writer versions(out, graph_def::versions);
    versions.add_int32(versions::producer, version);
  }
  return graph;
}

Result<RegionSession> open_region(const Library& library, const RegionGraph& region, int threads) {
  const std::string graph = TRY(complete_graph(library, region));
  RegionSession opened;
  opened.session = TRY(Session::from_graph(library, graph, {threads, region.has_control_flow}));
  SessionGraph& nodes = opened.session->graph();
  for (const std::string& input : region.inputs) opened.inputs.push_back(TRY(nodes.find(input)));
  for (const std::string& output : region.outputs) opened.outputs.push_back(TRY(nodes.find(output)));
  std::vector<const TF_Operation*> targets;
  for (const std::string& name : region.initializers) {
    const TF_Operation* operation = library.api().find_operation(nodes, name.c_str());
    if (operation == nullptr) return fail("TensorFlow's graph has no node '{}'", name);
    targets.push_back(operation);
  }
  if (!targets.empty()) TRY(with_context(opened.session->run_targets(targets), "filling tables"));
  return opened;
}

}  // namespace intarsia::tf
