#include "rewrite/drop_variables.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/protobuf.h"
#include "import/import_tensorflow.h"
#include "import/operator_roles.h"
#include "rewrite/body.h"
#include "rewrite/find_bodies.h"
#include "rewrite/inline_calls.h"
#include "rewrite/object_edit.h"
#include "rewrite/saver_functions.h"
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

using Argument = std::pair<std::string, size_t>;  // function, and the argument's number

/// Finder of handles that functions take in vain.
class UnusedArguments {
 public:
  UnusedArguments(const GraphDef& graph, const ObjectGraph& objects) : graph_(graph) {
    for (const NodeDef& node : graph.nodes) note_users(node);
    for (const auto& [name, function] : graph.functions) {
      for (const NodeDef& node : function.nodes) note_users(node);
      note_uses(name, function);
      keep_inputs(name, function, objects);
    }
    for (const std::string& name : run_by_others_)
      for (size_t i = 0; i < graph.functions.at(name).signature.inputs.size(); ++i) used_.insert({name, i});
    spread();
  }

  /// Returns the numbers of handles that the function does not use, and that its callers need not give.
  std::set<size_t> of(const std::string& name) const {
    std::set<size_t> unused;
    const auto function = graph_.functions.find(name);
    for (size_t i = 0; function != graph_.functions.end() && i < function->second.signature.inputs.size();
         ++i)
      if (function->second.signature.inputs[i].type == resource_type && !used_.contains({name, i}))
        unused.insert(i);
    return unused;
  }

 private:
  void note_users(const NodeDef& node) {
    if (find_called(node, graph_.functions) != nullptr) return;
    for (const std::string& name : functions_of(node))
      if (graph_.functions.contains(name)) run_by_others_.insert(name);
  }

  void note_uses(const std::string& name, const FunctionDef& function) {
    std::map<std::string, size_t> numbers;
    for (size_t i = 0; i < function.signature.inputs.size(); ++i)
      numbers[function.signature.inputs[i].name] = i;
    for (const NodeDef& node : function.nodes) {
      const FunctionDef* called = find_called(node, graph_.functions);
      size_t input_number = 0;
      for (const std::string& input : node.inputs) {
        if (is_control(input)) continue;
        const size_t at = input_number++;
        const auto argument = numbers.find(node_of(input));
        if (argument == numbers.end()) continue;
        if (called != nullptr)
          givers_[{called->signature.name, at}].push_back({name, argument->second});
        else
          used_.insert({name, argument->second});
      }
    }
    for (const auto& [result, from] : function.returns)
      if (const auto argument = numbers.find(node_of(from)); argument != numbers.end())
        used_.insert({name, argument->second});
  }

  /// Keeps the arguments that users of the model pass to a function themselves: all but its captures.
  void keep_inputs(const std::string& name, const FunctionDef& function, const ObjectGraph& objects) {
    const auto captures = objects.captures.find(name);
    if (captures == objects.captures.end()) return;
    const size_t count = function.signature.inputs.size();
    for (size_t i = 0; i + captures->second.size() < count; ++i) used_.insert({name, i});
  }

  /// An argument that is given to a function which uses it is used.
  void spread() {
    std::vector<Argument> open(used_.begin(), used_.end());
    while (!open.empty()) {
      const Argument argument = open.back();
      open.pop_back();
      for (const Argument& giver : givers_[argument])
        if (used_.insert(giver).second) open.push_back(giver);
    }
  }

  const GraphDef& graph_;
  std::set<std::string> run_by_others_;  // functions that not only calls run
  std::map<Argument, std::vector<Argument>> givers_;
  std::set<Argument> used_;
};

const NodeDef* find_node(const GraphDef& graph, const std::string& tensor) {
  const auto at = std::ranges::find(graph.nodes, node_of(tensor), &NodeDef::name);
  return at == graph.nodes.end() ? nullptr : &*at;
}

/// Removes inputs of a call, by number.
NodeDef without_inputs(NodeDef call, const std::set<size_t>& numbers) {
  std::vector<std::string> inputs;
  std::vector<int32_t> types;
  const std::vector<int32_t> old_types = get_types(call.attributes, "Tin");
  size_t number = 0;
  for (const std::string& input : call.inputs) {
    const size_t at = is_control(input) ? 0 : number++;
    if (!is_control(input) && numbers.contains(at)) continue;
    inputs.push_back(input);
    if (!is_control(input) && at < old_types.size()) types.push_back(old_types[at]);
  }
  call.inputs = std::move(inputs);
  call.attributes.set("Tin", encode_types(types));
  call.attributes.erase("_read_only_resource_inputs");
  return call;
}

class VariableDropper {
 public:
  VariableDropper(const MetaGraph& meta, const GraphDef& graph, std::string_view checkpoint_objects)
      : meta_(meta),
        graph_(graph),
        objects_(read_saved_objects(meta.object_graph)),
        checkpoint_objects_(checkpoint_objects),
        unused_(graph, objects_) {}

  /// Finds what to drop; returns whether there is anything.
  bool find() {
    if (!find_savers()) return false;
    find_objects();
    for (const auto& [handle, key] : keys_)
      if (object_of_key_.contains(key)) dropped_.insert(handle);
    for (size_t before = dropped_.size() + 1; before != dropped_.size();) {
      before = dropped_.size();
      std::erase_if(dropped_, [&](const std::string& handle) { return is_needed(handle); });
    }
    return !dropped_.empty();
  }

  Result<SlimModel> write(std::string_view bytes) {
    SlimModel slim;
    std::set<std::string> keys;
    for (const std::string& handle : dropped_) keys.insert(keys_.at(handle));
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
    const FunctionDef* called = find_called(node, graph_.functions);
    if (called == nullptr) return true;
    const std::set<size_t> unused = unused_.of(called->signature.name);
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
      return write_call(without_inputs(node, gone));
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

  /// Writes a node; a call without the handles that the function no longer takes.
  Result<std::string> write_any(const NodeDef& node) const {
    const FunctionDef* called = find_called(node, graph_.functions);
    const std::set<size_t> gone = called ? unused_of(called->signature.name) : std::set<size_t>();
    return gone.empty() ? write_body_node(node) : write_call(without_inputs(node, gone));
  }

  static Result<std::string> write_call(const NodeDef& call) {
    return write_body_node(call, {"Tin", "_read_only_resource_inputs"});
  }

  bool is_saver(const std::string& function) const {
    for (const NodeDef* node : {save_node_, restore_node_})
      if (find_called(*node, graph_.functions)->signature.name == function) return true;
    return false;
  }

  std::set<size_t> unused_of(const std::string& function) const {
    return is_saver(function) ? std::set<size_t>() : unused_.of(function);
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
    const bool calls_changed = std::ranges::any_of(function.nodes, [&](const NodeDef& node) {
      const FunctionDef* called = find_called(node, graph_.functions);
      return called != nullptr && !unused_of(called->signature.name).empty();
    });
    const std::set<size_t> gone = unused_of(function.signature.name);
    if (gone.empty() && !calls_changed) return std::string(function.bytes);
    FunctionEdit edit{.original = function,
                      .nodes = {},
                      .returns = function.returns,
                      .control_returns = function.control_returns,
                      .without = gone};
    for (const NodeDef& node : function.nodes) edit.nodes.push_back(TRY(write_any(node)));
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

}  // namespace

Result<SlimModel> drop_variables(std::string_view bytes, std::string_view checkpoint_objects) {
  const MetaGraph meta = TRY(read_serving_graph(bytes));
  if (meta.object_graph.empty() || checkpoint_objects.empty()) return SlimModel{};
  const GraphDef graph = TRY(read_graph(meta.graph));
  VariableDropper dropper(meta, graph, checkpoint_objects);
  if (!dropper.find()) return SlimModel{};
  return dropper.write(bytes);
}

}  // namespace intarsia
