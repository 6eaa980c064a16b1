#include "rewrite/drop_variables.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/protobuf.h"
#include "import/import_tensorflow.h"
#include "import/operator_roles.h"
#include "rewrite/body.h"
#include "rewrite/drop_graph_variables.h"
#include "rewrite/inline_calls.h"
#include "rewrite/inner_functions.h"
#include "rewrite/object_edit.h"
#include "rewrite/saver_functions.h"
#include "rewrite/unused_arguments.h"
#include "rewrite/write_saved_model.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"
#include "tensorflow/fields.h"
#include "tensorflow/object_graph.h"

namespace intarsia {

using namespace tensorflow;
using protozero::pbf_reader;
using protozero::pbf_writer;

namespace {

const NodeDef* find_node(const GraphDef& graph, const std::string& tensor) {
  const auto at = std::ranges::find(graph.nodes, node_of(tensor), &NodeDef::name);
  return at == graph.nodes.end() ? nullptr : &*at;
}

class VariableDropper {
 public:
  VariableDropper(const MetaGraph& meta, const GraphDef& graph, std::string_view checkpoint_objects)
      : meta_(meta),
        graph_(graph),
        objects_(read_saved_objects(meta.object_graph)),
        checkpoint_objects_(checkpoint_objects),
        unused_(graph, objects_) {}

  /// Finds what to drop, but for these tensors of the checkpoint; returns whether there is anything.
  bool find(const std::set<std::string>& kept) {
    if (!find_savers()) return false;
    find_objects();
    for (const auto& [handle, key] : keys_)
      if (object_of_key_.contains(key) && !kept.contains(key)) dropped_.insert(handle);
    for (size_t before = dropped_.size() + 1; before != dropped_.size();) {
      before = dropped_.size();
      std::erase_if(dropped_, [&](const std::string& handle) { return is_needed(handle); });
    }
    return !dropped_.empty();
  }

  /// Returns the tensors of the checkpoint that go away.
  std::set<std::string> dropped() const {
    std::set<std::string> keys;
    for (const std::string& handle : dropped_) keys.insert(keys_.at(handle));
    return keys;
  }

  Result<SlimModel> write(std::string_view bytes) {
    SlimModel slim;
    const std::set<std::string> keys = dropped();
    slim.dropped.assign(keys.begin(), keys.end());
    for (const SavedTensor& tensor : restore_->tensors()) {
      if (keys.contains(tensor.key) || tensor.key == checkpoint_graph_key) continue;
      slim.kept.push_back(tensor.key);
      slim.types.push_back(tensor.data_type);
    }
    slim.checkpoint_objects = remove_checkpoint_objects(checkpoint_objects_, keys);
    slim.bytes = TRY(copy_saved_model(
        bytes, [&](std::string_view meta) { return write_meta_graph(meta, slim.checkpoint_objects); }));
    return slim;
  }

 private:
  /// Finds the functions that save and restore, and the tensor of each variable in the checkpoint.
  bool find_savers() {
    save_node_ = find_node(graph_, meta_.save_tensor);
    restore_node_ = find_node(graph_, meta_.restore_op);
    const FunctionDef* save = save_node_ ? find_called(*save_node_, graph_.functions) : nullptr;
    const FunctionDef* restore = restore_node_ ? find_called(*restore_node_, graph_.functions) : nullptr;
    if (save == nullptr || restore == nullptr) return false;
    save_ = SaverFunction::read(*save);
    restore_ = SaverFunction::read(*restore);
    if (!save_ || !restore_) return false;
    for (const SavedTensor& tensor : restore_->tensors())
      if (const std::string handle = handle_of(*restore_node_, *restore, tensor.argument); !handle.empty())
        keys_[handle] = tensor.key;
    return true;
  }

  /// Returns the node of the variable that a call gives as this argument; empty if there is none.
  std::string handle_of(const NodeDef& call, const FunctionDef& function, const std::string& argument) const {
    for (size_t i = 0; i < function.signature.inputs.size() && i < call.inputs.size(); ++i) {
      if (function.signature.inputs[i].name != argument) continue;
      const NodeDef* node = find_node(graph_, call.inputs[i]);
      return node != nullptr && node->op == "VarHandleOp" ? node->name : std::string();
    }
    return {};
  }

  /// Finds the object of each tensor of the checkpoint.
  void find_objects() {
    const ObjectGraph saved = read_checkpoint_objects(checkpoint_objects_);
    const std::vector<std::optional<ObjectPath>> paths = find_paths(objects_);
    for (uint32_t i = 0; i < paths.size(); ++i) {
      const TrackedObject* object = paths[i] ? find_object(saved, *paths[i]) : nullptr;
      if (object != nullptr && !object->variable_key.empty() && objects_.objects[i].is_variable)
        object_of_key_[object->variable_key] = i;
    }
    for (const auto& [function, captured] : objects_.captures) {
      const auto at = graph_.functions.find(function);
      if (at == graph_.functions.end()) continue;
      const size_t first =
          at->second.signature.inputs.size() - std::min(captured.size(), at->second.signature.inputs.size());
      const std::set<size_t> unused = unused_.of(function);
      for (size_t i = 0; i < captured.size(); ++i) {
        if (unused.contains(first + i))
          captures_without_[function].insert(i);
        else
          captured_.insert(captured[i]);
      }
    }
    for (const NodeDef& node : graph_.nodes)
      for (const std::string& input : node.inputs) readers_[node_of(input)].push_back(&node);
  }

  /// Checks whether anything that stays reads the variable.
  bool is_needed(const std::string& handle) {
    if (captured_.contains(object_of_key_.at(keys_.at(handle)))) return true;
    return std::ranges::any_of(readers_[handle], [&](const NodeDef* node) { return keeps(*node, handle); });
  }

  bool keeps(const NodeDef& node, const std::string& handle) {
    if (&node == save_node_ || &node == restore_node_ || node.op == "VarIsInitializedOp") return false;
    if (node.op == "AssignVariableOp") return node_of(node.inputs[0]) != handle;
    if (node.op == "ReadVariableOp")
      return std::ranges::any_of(readers_[node.name], [&](const NodeDef* reader) {
        return reader->op != "AssignVariableOp" || !dropped_.contains(node_of(reader->inputs[0]));
      });
    if (find_called(node, graph_.functions) == nullptr) return true;
    const std::set<size_t> unused = unused_.of_run_by(node);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (!is_control(node.inputs[i]) && node_of(node.inputs[i]) == handle && !unused.contains(i))
        return true;
    return false;
  }

  Result<std::string> write_meta_graph(std::string_view bytes, const std::string& checkpoint_objects) const {
    std::set<uint32_t> removed;
    for (const std::string& handle : dropped_) removed.insert(object_of_key_.at(keys_.at(handle)));
    std::string written;
    pbf_writer out(written);
    pbf_reader old = read_message(bytes);
    while (old.next()) {
      if (old.tag() == meta_graph::graph_def)
        out.add_message(meta_graph::graph_def, TRY(write_graph(read_bytes(old), checkpoint_objects)));
      else if (old.tag() == meta_graph::object_graph_def)
        out.add_message(meta_graph::object_graph_def,
                        remove_saved_objects(read_bytes(old), {removed, captures_without_}));
      else
        copy_field(old, out);
    }
    return written;
  }

  Result<std::string> write_graph(std::string_view bytes, const std::string& checkpoint_objects) const {
    std::string written =
        TRY(copy_graph(bytes, [&](std::string_view library) { return write_library(library); }));
    pbf_writer out(written);
    for (const NodeDef& node : graph_.nodes)
      if (!goes_away(node)) out.add_message(graph_def::node, TRY(write_main_node(node, checkpoint_objects)));
    return written;
  }

  /// Checks for a dropped variable, and for nodes that only set, read or check one.
  bool goes_away(const NodeDef& node) const {
    if (dropped_.contains(node.name)) return true;
    constexpr std::array ops{"VarIsInitializedOp", "AssignVariableOp", "ReadVariableOp"};
    return std::ranges::find(ops, node.op) != ops.end() && !node.inputs.empty() &&
           dropped_.contains(node_of(node.inputs[0]));
  }

  Result<std::string> write_main_node(NodeDef node, const std::string& checkpoint_objects) const {
    std::erase_if(node.inputs, [&](const std::string& input) {
      const NodeDef* from = is_control(input) ? find_node(graph_, input) : nullptr;
      return from != nullptr && goes_away(*from);
    });
    if (node.name == save_node_->name || node.name == restore_node_->name) {
      std::set<size_t> gone;
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (dropped_.contains(node_of(node.inputs[i]))) gone.insert(i);
      return write_without_arguments(node, gone);
    }
    if (is_object_graph(node)) {
      Tensor text(DType::string, {});
      text.as<std::string>()[0] = checkpoint_objects;
      node.attributes.set("value", std::move(text));
      return write_body_node(node, {"value"});
    }
    return write_any(node);
  }

  /// Checks for the constant that the checkpoint's graph of objects is saved from.
  bool is_object_graph(const NodeDef& node) const {
    const Tensor* value = node.op == "Const" ? node.attributes.get_tensor("value") : nullptr;
    return value != nullptr && value->dtype() == DType::string && value->shape().empty() &&
           value->as<std::string>()[0] == checkpoint_objects_;
  }

  /// Writes a node without the handles that the functions which it runs no longer take.
  Result<std::string> write_any(const NodeDef& node) const {
    return write_without_arguments(node, unused_of_run_by(node));
  }

  bool is_saver(const std::string& function) const {
    for (const NodeDef* node : {save_node_, restore_node_})
      if (find_called(*node, graph_.functions)->signature.name == function) return true;
    return false;
  }

  std::set<size_t> unused_of(const std::string& function) const {
    return is_saver(function) ? std::set<size_t>() : unused_.of(function);
  }

  std::set<size_t> unused_of_run_by(const NodeDef& node) const {
    const FunctionDef* called = find_called(node, graph_.functions);
    return called && is_saver(called->signature.name) ? std::set<size_t>() : unused_.of_run_by(node);
  }

  Result<std::string> write_library(std::string_view bytes) const {
    std::string written;
    pbf_writer out(written);
    pbf_reader old = read_message(bytes);
    while (old.next()) {
      if (old.tag() != function_library::function) {
        copy_field(old, out);
        continue;
      }
      const std::string_view message = read_bytes(old);
      const FunctionDef& function = graph_.functions.at(TRY(read_function(message)).signature.name);
      out.add_message(function_library::function, TRY(write_function_of(function)));
    }
    return written;
  }

  Result<std::string> write_function_of(const FunctionDef& function) const {
    for (const auto& [node, saver] : {std::pair(save_node_, &*save_), std::pair(restore_node_, &*restore_)}) {
      if (find_called(*node, graph_.functions) != &function) continue;
      std::set<std::string> arguments;
      for (size_t i = 0; i < function.signature.inputs.size() && i < node->inputs.size(); ++i)
        if (dropped_.contains(node_of(node->inputs[i]))) arguments.insert(function.signature.inputs[i].name);
      return saver->write(arguments);
    }
    return write_used(function, unused_of(function.signature.name));
  }

  /// Writes a function without these arguments, and without what it gives to others in vain.
  Result<std::string> write_used(const FunctionDef& function, const std::set<size_t>& gone) const {
    std::map<std::string, std::set<size_t>> loops;
    bool runs_changed = false;
    for (const NodeDef& node : function.nodes) {
      const std::set<size_t> unused = unused_of_run_by(node);
      if (is_loop(node.op)) loops[node.name] = unused;
      runs_changed = runs_changed || !unused.empty();
    }
    if (gone.empty() && !runs_changed) return std::string(function.bytes);
    const auto renumber = [&](std::string& reference) {
      if (const auto loop = loops.find(node_of(reference)); loop != loops.end() && !is_control(reference))
        reference = renumber_output(reference, loop->second);
    };
    FunctionEdit edit{.original = function,
                      .nodes = {},
                      .returns = function.returns,
                      .control_returns = function.control_returns,
                      .without = gone};
    for (NodeDef node : function.nodes) {
      std::ranges::for_each(node.inputs, renumber);
      edit.nodes.push_back(TRY(write_any(node)));
    }
    for (auto& [result, from] : edit.returns) renumber(from);
    if (unused_.is_loop_body(function.signature.name)) {
      edit.without_results = gone;
      for (const size_t number : gone) edit.returns.erase(function.signature.outputs.at(number).name);
    }
    return write_function_edit(edit);
  }

  const MetaGraph& meta_;
  const GraphDef& graph_;
  const ObjectGraph objects_;
  const std::string_view checkpoint_objects_;
  const UnusedArguments unused_;
  const NodeDef *save_node_ = nullptr, *restore_node_ = nullptr;
  std::optional<SaverFunction> save_, restore_;
  std::map<std::string, std::string> keys_;        // tensors of the checkpoint, by the variable's node
  std::map<std::string, uint32_t> object_of_key_;  // objects by tensor
  std::map<std::string, std::set<size_t>> captures_without_;
  std::set<uint32_t> captured_;                                 // objects that functions read
  std::map<std::string, std::vector<const NodeDef*>> readers_;  // in the model's own graph
  std::set<std::string> dropped_;                               // nodes of variables
};

/// Returns the tensors of variables that nothing in the model reads.
Result<std::set<std::string>> find_unread(std::string_view bytes, std::string_view checkpoint_objects) {
  const MetaGraph meta = TRY(read_serving_graph(bytes));
  const GraphDef graph = TRY(read_graph(meta.graph));
  VariableDropper dropper(meta, graph, checkpoint_objects);
  return dropper.find({}) ? dropper.dropped() : std::set<std::string>();
}

}  // namespace

Result<SlimModel> drop_variables(std::string_view bytes, std::string_view original,
                                 std::string_view checkpoint_objects) {
  const MetaGraph meta = TRY(read_serving_graph(bytes));
  if (meta.object_graph.empty()) return drop_graph_variables(bytes, original);
  if (checkpoint_objects.empty()) return SlimModel{};
  const GraphDef graph = TRY(read_graph(meta.graph));
  VariableDropper dropper(meta, graph, checkpoint_objects);
  if (!dropper.find(TRY(find_unread(original, checkpoint_objects)))) return SlimModel{};
  return dropper.write(bytes);
}

}  // namespace intarsia
