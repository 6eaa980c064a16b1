#include "backends/tensorflow/restore_variables.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "backends/tensorflow/region_session.h"
#include "base/protobuf.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"

namespace intarsia::tf {
namespace {

using namespace tensorflow;

/// Returns where TensorFlow keeps the variables of a SavedModel: the prefix of the checkpoint's files.
std::string checkpoint_of(const std::string& folder) {
  return (std::filesystem::path(folder) / "variables/variables").string();
}

NodeDef make_strings(const std::string& name, const std::vector<std::string>& texts, const Shape& shape) {
  Tensor tensor(DType::string, shape);
  std::ranges::copy(texts, tensor.as<std::string>().begin());
  NodeDef node{name, "Const", {}, {}, {}};
  node.attributes.set("dtype", encode_type(data_type_of(DType::string)));
  node.attributes.set("value", tensor);
  return node;
}

constexpr const char* restore_name = "intarsia_restore";

/// Makes nodes that read tensors of a checkpoint; the last one has them as outputs.
std::vector<NodeDef> make_restore(const std::string& checkpoint, const std::vector<std::string>& keys,
                                  const std::vector<int32_t>& types) {
  const std::string name = restore_name;
  const Shape all{static_cast<int64_t>(keys.size())};
  NodeDef restore{name, "RestoreV2", {}, {name + "/prefix", name + "/keys", name + "/slices"}, {}};
  restore.attributes.set("dtypes", encode_types(types));
  return {make_strings(restore.inputs[0], {checkpoint}, {}), make_strings(restore.inputs[1], keys, all),
          make_strings(restore.inputs[2], std::vector<std::string>(keys.size()), all), restore};
}

/// Makes a handle of the same variable under another node's name: both name one resource.
NodeDef make_handle(const NodeDef& handle, const std::string& name) {
  NodeDef copy{name, handle.op, {}, {}, handle.attributes};
  if (copy.attributes.get_string("shared_name", "").empty()) copy.attributes.set("shared_name", handle.name);
  copy.attributes.erase("_class");  // ties the node to others elsewhere
  return copy;
}

Result<std::string> write_nodes(const Library& library, const std::vector<NodeDef>& nodes) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  for (const NodeDef& node : nodes)
    out.add_message(graph_def::node, write_node(node, TRY(encode_attributes(node.attributes))));
  RegionGraph graph;
  graph.graph_def = bytes;
  return complete_graph(library, graph);
}

/// Returns the graph of objects that a checkpoint holds.
Result<std::string> read_object_bytes(const Library& library, const std::string& checkpoint) {
  const std::string bytes = TRY(
      write_nodes(library, make_restore(checkpoint, {checkpoint_graph_key}, {data_type_of(DType::string)})));
  const std::unique_ptr<Session> session = TRY(Session::from_graph(library, bytes, {1, true}));
  const TF_Output output = TRY(session->graph().find(restore_name));
  TF_Tensor* made = nullptr;
  TRY(session->run({}, {}, {&output, 1}, {&made, 1}));
  const Tensor tensor = TRY(adopt_tensor(library, OwnedTensor(made, DeleteTensor{&library})));
  if (tensor.as<std::string>().size() != 1) return fail("'{}' is not a single string", checkpoint_graph_key);
  return tensor.as<std::string>()[0];
}

Result<ObjectGraph> read_objects(const Library& library, const std::string& checkpoint) {
  const std::string bytes = TRY(read_object_bytes(library, checkpoint));
  try {
    return tensorflow::read_checkpoint_objects(bytes);
  } catch (const protozero::exception& error) {
    return fail("'{}' is damaged ({})", checkpoint_graph_key, error.what());
  }
}

Result<std::vector<std::string>> find_keys(const ObjectGraph& objects,
                                           const std::vector<SavedVariable>& variables) {
  std::vector<std::string> keys;
  for (const SavedVariable& variable : variables) {
    const TrackedObject* object = find_object(objects, variable.path);
    if (object == nullptr || object->variable_key.empty()) {
      return fail("it has no value of the variable '{}' ({}); export the model again", variable.handle.name,
                  fmt::join(variable.path, "."));
    }
    keys.push_back(object->variable_key);
  }
  return keys;
}

Status restore_variables(Session& session, const std::string& checkpoint,
                         const std::vector<SavedVariable>& variables) {
  const std::vector<std::string> keys =
      TRY(find_keys(TRY(read_objects(session.library(), checkpoint)), variables));
  std::vector<int32_t> types;
  for (const SavedVariable& variable : variables)
    types.push_back(get_type(variable.handle.attributes, "dtype"));
  std::vector<NodeDef> nodes = make_restore(checkpoint, keys, types);
  std::vector<std::string> assigned;
  for (size_t i = 0; i < variables.size(); ++i) {
    const std::string handle = fmt::format("{}/handle_{}", restore_name, i);
    nodes.push_back(make_handle(variables[i].handle, handle));
    assigned.push_back(fmt::format("{}/assign_{}", restore_name, i));
    nodes.push_back(
        {assigned.back(), "AssignVariableOp", {}, {handle, fmt::format("{}:{}", restore_name, i)}, {}});
    nodes.back().attributes.set("dtype", encode_type(types[i]));
  }
  TRY(session.graph().import(TRY(write_nodes(session.library(), nodes))));
  std::vector<const TF_Operation*> targets;
  for (const std::string& name : assigned)
    targets.push_back(session.library().api().find_operation(session.graph(), name.c_str()));
  return session.run_targets(targets);
}

}  // namespace

Result<std::unique_ptr<Session>> open_saved_model(const Library& library, const SavedModelFiles& files,
                                                  const SessionSettings& settings) {
  std::unique_ptr<Session> session =
      TRY(Session::from_saved_model(library, files.folder, files.tags, settings));
  if (files.unrestored.empty()) return session;
  const std::string checkpoint = checkpoint_of(files.folder);
  TRY(with_context(restore_variables(*session, checkpoint, files.unrestored), "checkpoint '{}'", checkpoint));
  return session;
}

Result<std::string> read_checkpoint_objects(const Library& library, const std::string& folder) {
  const std::string checkpoint = checkpoint_of(folder);
  return with_context(read_object_bytes(library, checkpoint), "checkpoint '{}'", checkpoint);
}

Status copy_checkpoint(const Library& library, const std::string& from, const std::string& to,
                       const std::vector<std::string>& keys, const std::vector<int32_t>& types,
                       const std::string& objects) {
  const std::string name = "intarsia_save";
  std::vector<std::string> saved = keys;
  std::vector<int32_t> saved_types = types;
  if (!objects.empty()) {
    saved.push_back(checkpoint_graph_key);
    saved_types.push_back(data_type_of(DType::string));
  }
  std::vector<NodeDef> nodes;
  if (!keys.empty()) nodes = make_restore(checkpoint_of(from), keys, types);
  const Shape all{static_cast<int64_t>(saved.size())};
  nodes.push_back(make_strings(name + "/prefix", {checkpoint_of(to)}, {}));
  nodes.push_back(make_strings(name + "/keys", saved, all));
  nodes.push_back(make_strings(name + "/slices", std::vector<std::string>(saved.size()), all));
  if (!objects.empty()) nodes.push_back(make_strings(name + "/objects", {objects}, {}));
  NodeDef save{name, "SaveV2", {}, {name + "/prefix", name + "/keys", name + "/slices"}, {}};
  for (size_t i = 0; i < keys.size(); ++i) save.inputs.push_back(fmt::format("{}:{}", restore_name, i));
  if (!objects.empty()) save.inputs.push_back(name + "/objects");
  save.attributes.set("dtypes", encode_types(saved_types));
  nodes.push_back(std::move(save));
  const std::unique_ptr<Session> session =
      TRY(Session::from_graph(library, TRY(write_nodes(library, nodes)), {1, true}));
  const TF_Operation* target = library.api().find_operation(session->graph(), name.c_str());
  return with_context(session->run_targets({&target, 1}), "checkpoint '{}'", checkpoint_of(to));
}

}  // namespace intarsia::tf
