#include "rewrite/write_saved_model.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/protobuf.h"
#include "rewrite/changed_functions.h"
#include "rewrite/find_bodies.h"
#include "rewrite/inline_calls.h"
#include "rewrite/object_edit.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"
#include "tensorflow/map_entry.h"

namespace intarsia {

using namespace tensorflow;
using protozero::pbf_reader;
using protozero::pbf_writer;

namespace {

/// Fields that only this file writes, of meta_graph.proto and saved_object_graph.proto.
namespace asset_file {
enum : uint32_t { tensor_info = 1, filename = 2 };
}
namespace saved_object {
enum : uint32_t { asset = 5 };
}
namespace saved_asset {
enum : uint32_t { asset_file_def_index = 1 };
}

constexpr const char* init_signature = "__saved_model_init_op";
constexpr const char* init_name = "intarsia_program_init";

std::string path_name(const WrittenProgram& program) { return program.name + "_path"; }
std::string assign_name(const WrittenProgram& program) { return program.name + "/Assign"; }

std::vector<std::string> names_of(const std::vector<WrittenProgram>& programs) {
  std::vector<std::string> names;
  for (const WrittenProgram& program : programs) names.push_back(program.name);
  return names;
}

/// Writer of one MetaGraphDef.
class MetaGraphWriter {
 public:
  MetaGraphWriter(const GraphDef& graph, const std::vector<Body>& bodies,
                  const std::vector<WrittenProgram>& programs)
      : graph_(graph), changed_(graph, bodies, names_of(programs)), programs_(programs) {
    for (const Body& body : bodies)
      if (!body.is_function()) body_ = &body;
  }

  Result<std::string> write(std::string_view bytes) {
    const MetaGraph meta = read_meta_graph(bytes);
    count_assets(bytes, meta);
    find_init(meta);
    find_gradients(meta.object_graph);
    std::string written;
    pbf_writer out(written);
    pbf_reader old = read_message(bytes);
    while (old.next()) {
      if (old.tag() == meta_graph::graph_def)
        out.add_message(meta_graph::graph_def, TRY(write_graph(read_bytes(old))));
      else if (old.tag() == meta_graph::object_graph_def)
        out.add_message(meta_graph::object_graph_def, write_objects(read_bytes(old)));
      else if (old.tag() == meta_graph::signature_def)
        out.add_message(meta_graph::signature_def, rename_results(read_bytes(old)));
      else
        copy_field(old, out);
    }
    write_assets(out);
    if (init_.empty()) write_init_signature(out);
    return written;
  }

 private:
  void count_assets(std::string_view bytes, const MetaGraph& meta) {
    pbf_reader old = read_message(bytes);
    while (old.next()) {
      if (old.tag() == meta_graph::asset_file_def) ++assets_;
      old.skip();
    }
    if (assets_ == 0) collected_assets_ = meta.collected_assets;
  }

  /// Finds the node that runs when the model is loaded.
  void find_init(const MetaGraph& meta) {
    const auto at = meta.signatures.find(init_signature);
    const bool has_signature = at != meta.signatures.end() && !at->second.outputs.empty();
    init_ = has_signature ? node_of(at->second.outputs.begin()->second.name) : meta.init_op;
  }

  /// Finds functions for gradients that capture tensors which their functions no longer make. These have no
  /// gradient any more.
  void find_gradients(std::string_view object_graph) {
    const ObjectGraph objects = read_saved_objects(object_graph);
    for (uint32_t i = 0; i < objects.objects.size(); ++i)
      if (is_gone(objects.objects[i])) removed_.objects.insert(i);
    for (const auto& [function, captures] : objects.captures)
      if (std::ranges::any_of(captures, [&](uint32_t object) { return removed_.objects.contains(object); }))
        removed_.functions.insert(function);
  }

  bool is_gone(const TrackedObject& object) const {
    const Body* body = changed_.body_of(object.captured_in);
    return body != nullptr && !object.captured_tensor.empty() &&
           !body->names().contains(node_of(object.captured_tensor));
  }

  bool is_removed_gradient(uint32_t tag, std::string_view entry) const {
    if (tag != function_library::gradient && tag != function_library::registered_gradients) return false;
    pbf_reader message = read_message(entry);
    const uint32_t function =
        tag == function_library::gradient ? gradient_def::function : gradient_def::registered_function;
    return message.next(function) && removed_.functions.contains(message.get_string());
  }

  Result<std::string> write_graph(std::string_view bytes) {
    std::string written =
        TRY(copy_graph(bytes, [&](std::string_view library) { return write_library(library); }));
    pbf_writer out(written);
    TRY(write_nodes(out));
    return written;
  }

  Status write_nodes(pbf_writer& out) {
    std::vector<const NodeDef*> nodes;
    if (body_ != nullptr)
      for (const BodyNode& node : body_->nodes) nodes.push_back(&node.def);
    else
      for (const NodeDef& node : graph_.nodes) nodes.push_back(&node);
    for (const NodeDef* node : nodes) {
      NodeDef def = *node;
      if (def.name == init_) wait_for_programs(def);
      out.add_message(graph_def::node, TRY(changed_.write_node(def, false)));
    }
    for (const WrittenProgram& program : programs_)
      for (const NodeDef& node : program_nodes(program))
        out.add_message(graph_def::node, TRY(write_body_node(node)));
    if (!init_.empty()) return {};
    NodeDef init{init_name, "NoOp", {}, {}, {}};
    wait_for_programs(init);
    out.add_message(graph_def::node, TRY(write_body_node(init)));
    return {};
  }

  void wait_for_programs(NodeDef& node) const {
    for (const WrittenProgram& program : programs_) node.inputs.push_back("^" + assign_name(program));
  }

  /// Returns the nodes that keep the asset's path, as TensorFlow does: it feeds the path only when it loads
  /// the model.
  static std::vector<NodeDef> program_nodes(const WrittenProgram& program) {
    const std::string& name = program.name;
    const EncodedAttribute type = encode_type(data_type_of(DType::string));
    NodeDef path{path_name(program), "Const", {}, {}, {}}, handle{name, "VarHandleOp", {}, {}, {}},
        assign{assign_name(program), "AssignVariableOp", {}, {name, path_name(program)}, {}},
        read{program_input(name, false), "ReadVariableOp", {}, {name}, {}};
    path.attributes.set("dtype", type);
    path.attributes.set("value", Tensor(DType::string, {}));  // loaders give another
    handle.attributes.set("dtype", type);
    handle.attributes.set("shape", encode_shape(SymbolicShape()));
    handle.attributes.set("shared_name", name);
    assign.attributes.set("dtype", type);
    read.attributes.set("dtype", type);
    return {path, handle, assign, read};
  }

  Result<std::string> write_library(std::string_view bytes) const {
    std::string written;
    pbf_writer out(written);
    pbf_reader old = read_message(bytes);
    while (old.next()) {
      const uint32_t tag = old.tag();
      const std::string_view function = read_bytes(old);
      if (tag != function_library::function) {
        if (!is_removed_gradient(tag, function)) out.add_message(tag, function.data(), function.size());
        continue;
      }
      const std::string name = TRY(read_function(function)).signature.name;
      if (removed_.functions.contains(name)) continue;
      if (changed_.contains(name))
        out.add_message(function_library::function, TRY(changed_.write(graph_.functions.at(name))));
      else
        out.add_message(function_library::function, function.data(), function.size());
    }
    return written;
  }

  /// Adds the assets as objects, which changed functions capture. They are children of the root, so that
  /// whoever loads the model and saves it again saves the assets with it.
  std::string write_objects(std::string_view bytes) const {
    std::string written;
    pbf_writer out(written);
    const ObjectGraph objects = read_saved_objects(bytes);
    const auto first = static_cast<int32_t>(objects.objects.size());
    bool is_root = first > 0;
    pbf_reader old = read_message(bytes);
    while (old.next()) {
      if (old.tag() == object_graph::concrete_functions)
        write_captures(read_bytes(old), first, out);
      else if (old.tag() == object_graph::nodes && std::exchange(is_root, false))
        write_root(read_bytes(old), objects.objects[0], first, out);
      else
        copy_field(old, out);
    }
    for (int32_t i = 0; i < static_cast<int32_t>(programs_.size()); ++i) {
      pbf_writer object(out, object_graph::nodes);
      pbf_writer asset(object, saved_object::asset);
      asset.add_int32(saved_asset::asset_file_def_index, assets_ + i);
    }
    return removed_.objects.empty() ? written : remove_saved_objects(written, removed_);
  }

  void write_root(std::string_view bytes, const TrackedObject& object, int32_t first, pbf_writer& out) const {
    pbf_writer root(out, object_graph::nodes);
    pbf_reader old = read_message(bytes);
    while (old.next()) copy_field(old, root);
    for (size_t i = 0; i < programs_.size(); ++i) {
      if (object.children.contains(programs_[i].name)) continue;
      pbf_writer child(root, object_node::children);
      child.add_int32(object_reference::node_id, first + static_cast<int32_t>(i));
      child.add_string(object_reference::local_name, programs_[i].name);
    }
  }

  void write_captures(std::string_view entry, int32_t first, pbf_writer& out) const {
    const auto [name, old] = read_entry(read_message(entry));
    std::string function(old);
    std::vector<int32_t> objects(programs_.size());
    std::iota(objects.begin(), objects.end(), first);
    if (changed_.contains(name))
      pbf_writer(function).add_packed_int32(concrete_function::bound_inputs, objects.begin(), objects.end());
    write_entry(out, object_graph::concrete_functions, name, function);
  }

  /// Writes a signature, or a part of one, with the names of the tensors that make its results now.
  std::string rename_results(std::string_view message, size_t depth = 0) const {
    constexpr uint32_t path[] = {map_entry::value, signature_def::outputs, map_entry::value,
                                 tensor_info::name};
    std::string written;
    pbf_writer out(written);
    pbf_reader old = read_message(message);
    while (old.next()) {
      if (old.tag() != path[depth])
        copy_field(old, out);
      else if (depth + 1 == std::size(path))
        out.add_string(tensor_info::name, result_name(old.get_string()));
      else {
        const uint32_t tag = old.tag();
        out.add_message(tag, rename_results(read_bytes(old), depth + 1));
      }
    }
    return written;
  }

  std::string result_name(const std::string& tensor) const {
    if (body_ != nullptr)
      for (const BodyReturn& one : body_->returns)
        if (one.name == canonical_reference(tensor)) return one.source;
    return tensor;
  }

  /// Writes the assets; those of a collection, too, which loaders read only where no asset is outside of it.
  void write_assets(pbf_writer& out) const {
    for (const std::string_view old : collected_assets_)
      out.add_message(meta_graph::asset_file_def, old.data(), old.size());
    for (const WrittenProgram& program : programs_) {
      pbf_writer asset(out, meta_graph::asset_file_def);
      {
        pbf_writer tensor(asset, asset_file::tensor_info);
        tensor.add_string(tensor_info::name, path_name(program) + ":0");
      }
      asset.add_string(asset_file::filename, program.content);
    }
  }

  static void write_init_signature(pbf_writer& out) {
    pbf_writer entry(out, meta_graph::signature_def);
    entry.add_string(map_entry::key, init_signature);
    pbf_writer signature(entry, map_entry::value);
    pbf_writer output(signature, signature_def::outputs);
    output.add_string(map_entry::key, init_signature);
    pbf_writer tensor(output, map_entry::value);
    tensor.add_string(tensor_info::name, init_name);
    {
      pbf_writer shape(tensor, tensor_info::tensor_shape);
      shape.add_bool(tensor_shape::unknown_rank, true);
    }
  }

  const GraphDef& graph_;
  const ChangedFunctions changed_;
  const std::vector<WrittenProgram>& programs_;
  RemovedObjects removed_;
  const Body* body_ = nullptr;  // of the model's own graph, if that is rewritten
  std::string init_;            // empty if the model has none
  int32_t assets_ = 0;
  std::vector<std::string_view> collected_assets_;
};

bool is_served(const MetaGraph& meta) { return std::ranges::find(meta.tags, "serve") != meta.tags.end(); }

}  // namespace

Result<std::string> copy_graph(std::string_view bytes, const WriteMessage& write_library) {
  std::string written;
  pbf_writer out(written);
  pbf_reader old = read_message(bytes);
  while (old.next()) {
    if (old.tag() == graph_def::node)
      old.skip();
    else if (old.tag() == graph_def::library)
      out.add_message(graph_def::library, TRY(write_library(read_bytes(old))));
    else
      copy_field(old, out);
  }
  return written;
}

Result<std::string> copy_saved_model(std::string_view bytes, const WriteMessage& write_served) {
  std::string written;
  pbf_writer out(written);
  pbf_reader old = read_message(bytes);
  bool is_done = false;
  while (old.next()) {
    if (old.tag() != saved_model::meta_graph || is_done) {
      copy_field(old, out);
      continue;
    }
    const std::string_view meta = read_bytes(old);
    is_done = is_served(read_meta_graph(meta));
    out.add_message(saved_model::meta_graph, is_done ? TRY(write_served(meta)) : std::string(meta));
  }
  return written;
}

Result<std::string> write_saved_model(std::string_view bytes, const GraphDef& graph,
                                      const std::vector<Body>& bodies,
                                      const std::vector<WrittenProgram>& programs) {
  return copy_saved_model(
      bytes, [&](std::string_view meta) { return MetaGraphWriter(graph, bodies, programs).write(meta); });
}

Result<std::string> write_graph_file(std::string_view bytes, const Body& body,
                                     const std::vector<WrittenProgram>& programs) {
  std::string written = TRY(copy_graph(
      bytes, [](std::string_view library) -> Result<std::string> { return std::string(library); }));
  pbf_writer out(written);
  for (const BodyNode& node : body.nodes) out.add_message(graph_def::node, TRY(write_body_node(node.def)));
  for (const WrittenProgram& program : programs) {
    NodeDef constant{program_input(program.name, false), "Const", {}, {}, {}};
    Tensor value(DType::string, {});
    value.as<std::string>()[0] = program.content;
    constant.attributes.set("dtype", encode_type(data_type_of(DType::string)));
    constant.attributes.set("value", std::move(value));
    out.add_message(graph_def::node, TRY(write_body_node(constant)));
  }
  return written;
}

}  // namespace intarsia
