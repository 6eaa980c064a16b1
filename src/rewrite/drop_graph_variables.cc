#include "rewrite/drop_graph_variables.h"

#include <algorithm>
#include <functional>

#include "base/protobuf.h"
#include "import/operator_roles.h"
#include "rewrite/body.h"
#include "rewrite/graph_savers.h"
#include "rewrite/saver_lists.h"
#include "rewrite/write_saved_model.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"
#include "tensorflow/fields.h"
#include "tensorflow/map_entry.h"

namespace intarsia {

using namespace tensorflow;
using protozero::pbf_reader;
using protozero::pbf_writer;

namespace {

/// Collection of a MetaGraphDef: nodes or tensors by name, or messages.
struct Collection {
  std::string name;
  uint32_t kind = 0;  // 0 if it holds something else
  std::vector<std::string> values;
};

Collection read_collection(std::string_view entry) {
  const auto [name, bytes] = read_entry(read_message(entry));
  Collection collection{name, 0, {}};
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() != collection_def::node_list && message.tag() != collection_def::bytes_list) {
      message.skip();
      continue;
    }
    collection.kind = message.tag();
    pbf_reader list = message.get_message();
    while (list.next(list_of_collection::value)) collection.values.push_back(list.get_string());
  }
  return collection;
}

/// Returns the node of the variable that a message of a collection describes (VariableDef); empty if it
/// describes something else.
std::string described_variable(const std::string& bytes, const GraphReaders& readers) {
  try {
    pbf_reader message = read_message(bytes);
    while (message.next(variable_def::variable)) {
      const std::string tensor = message.get_string();
      const NodeDef* node = readers.find(tensor);
      if (tensor.ends_with(":0") && node != nullptr && node->op == "VarHandleOp") return node->name;
    }
  } catch (const protozero::exception&) {
    return {};
  }
  return {};
}

class GraphVariableDropper {
 public:
  GraphVariableDropper(const MetaGraph& meta, const GraphDef& graph, std::string_view meta_bytes)
      : meta_(meta), graph_(graph), readers_(graph), savers_(find_graph_savers(graph, readers_)) {
    pbf_reader message = read_message(meta_bytes);
    while (message.next()) {
      if (message.tag() == meta_graph::collection_def)
        note_collection(read_collection(read_bytes(message)));
      else
        message.skip();
    }
    std::set<std::string> results;
    for (const auto& [name, signature] : meta.signatures) {
      for (const auto& [key, input] : signature.inputs) named_.insert(node_of(input.name));
      for (const auto& [key, output] : signature.outputs) results.insert(node_of(output.name));
    }
    named_.insert(results.begin(), results.end());
    named_.insert(meta.init_op);
    run_ = readers_.needed_by(results);
  }

  /// Returns the tensors of variables that nothing reads.
  std::set<std::string> find_unread() {
    find({});
    return dropped();
  }

  /// Finds what to drop, but for these tensors of the checkpoint; returns whether there is anything that can
  /// go away.
  bool find(const std::set<std::string>& kept) {
    find_keys();
    for (const auto& [handle, key] : keys_)
      if (!is_described_elsewhere(handle) && !kept.contains(key)) dropped_.insert(handle);
    remove_needed();
    keep_part_of_checkpoint();
    if (dropped_.empty()) return false;
    is_without_saver_ =
        std::ranges::all_of(savers_, [&](const GraphSaver& saver) { return is_empty(saver); });
    return find_removed();
  }

  Result<SlimModel> write(std::string_view bytes) {
    SlimModel slim;
    const std::set<std::string> keys = dropped();
    slim.dropped.assign(keys.begin(), keys.end());
    std::map<std::string, int32_t> kept;
    for (const GraphSaver* saver : restorers_)
      for (const SavedEntry& entry : saver->entries)
        if (!dropped_.contains(entry.handle)) kept[entry.key] = entry.data_type;
    for (const auto& [key, type] : kept) {
      slim.kept.push_back(key);
      slim.types.push_back(type);
    }
    slim.bytes = TRY(copy_saved_model(bytes, [&](std::string_view meta) { return write_meta_graph(meta); }));
    return slim;
  }

  std::set<std::string> dropped() const {
    std::set<std::string> keys;
    for (const std::string& handle : dropped_) keys.insert(keys_.at(handle));
    return keys;
  }

 private:
  void note_collection(const Collection& collection) {
    for (const std::string& value : collection.values)
      if (collection.kind == collection_def::node_list)
        named_.insert(node_of(value));
      else if (described_variable(value, readers_).empty())
        texts_.push_back(value);
  }

  /// Finds the one tensor of the checkpoint that each variable is restored from.
  void find_keys() {
    const std::set<std::string> restoring = readers_.needed_by({meta_.restore_op});
    std::map<std::string, int> uses;
    std::map<std::string, std::set<std::string>> keys;
    for (const GraphSaver& saver : savers_) {
      const bool is_models = !saver.saves() && restoring.contains(saver.node->name);
      if (is_models) restorers_.push_back(&saver);
      for (const SavedEntry& entry : saver.entries) {
        if (is_models) ++uses[entry.key];
        if (is_models || !entry.is_whole) keys[entry.handle].insert(entry.is_whole ? entry.key : "");
      }
    }
    for (const auto& [handle, own] : keys)
      if (!handle.empty() && own.size() == 1 && uses[*own.begin()] == 1) keys_[handle] = *own.begin();
  }

  /// Checks for a variable that an unknown message of a collection may name, such as that of a loop.
  bool is_described_elsewhere(const std::string& handle) const {
    return std::ranges::any_of(
        texts_, [&](const std::string& text) { return text.find(handle) != std::string::npos; });
  }

  void remove_needed() {
    for (size_t before = dropped_.size() + 1; before != dropped_.size();) {
      before = dropped_.size();
      std::erase_if(dropped_, [&](const std::string& handle) { return is_needed(handle); });
    }
  }

  /// Checks whether anything that stays reads or changes the variable.
  bool is_needed(const std::string& handle) const {
    if (named_.contains(handle)) return true;
    return std::ranges::any_of(readers_.of_data(handle), [&](const NodeDef* node) {
      if (named_.contains(node->name)) return true;
      if (node->op == "VarIsInitializedOp") return !readers_.of_data(node->name).empty();
      if (node->op == "AssignVariableOp")
        return node_of(node->inputs[0]) != handle || run_.contains(node->name);
      return node->op != "ReadVariableOp" || is_value_needed(*node, graph_.nodes.size());
    });
  }

  /// Checks whether anything but savers, and what goes away, reads a variable's value.
  bool is_value_needed(const NodeDef& value, size_t hops) const {
    if (named_.contains(value.name) || hops == 0) return true;
    return std::ranges::any_of(readers_.of_data(value.name), [&](const NodeDef* reader) {
      if (reader->op == "Identity") return is_value_needed(*reader, hops - 1);
      if (reader->op == "AssignVariableOp") return !dropped_.contains(node_of(reader->inputs[0]));
      return reader->op != "SaveV2";
    });
  }

  bool is_empty(const GraphSaver& saver) const {
    return std::ranges::all_of(saver.entries,
                               [&](const SavedEntry& entry) { return dropped_.contains(entry.handle); });
  }

  /// Keeps the variables of savers that would save nothing, unless all savers would: their files are joined.
  void keep_part_of_checkpoint() {
    const auto would_be_empty = [&](const GraphSaver& saver) { return saver.saves() && is_empty(saver); };
    const auto saves = [](const GraphSaver& saver) { return saver.saves(); };
    while (!dropped_.empty()) {
      const auto empty = std::ranges::count_if(savers_, would_be_empty);
      if (empty == 0 || empty == std::ranges::count_if(savers_, saves)) return;
      for (const GraphSaver& saver : savers_) {
        if (!would_be_empty(saver)) continue;
        for (const SavedEntry& entry : saver.entries) dropped_.erase(entry.handle);
      }
      remove_needed();
    }
  }

  /// Finds the nodes that go away; returns whether all that depends on them can.
  bool find_removed() {
    for (const std::string& handle : dropped_) remove_variable(handle);
    for (const GraphSaver& saver : savers_)
      if (is_empty(saver) && saver.saves() && !remove_saver(*saver.node)) return false;
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (const NodeDef& node : graph_.nodes)
        if (!removed_.contains(node.name) && serves_removed(node)) is_new = removed_.insert(node.name).second;
    }
    for (const GraphSaver& saver : savers_)
      for (size_t i = 0; i < saver.entries.size(); ++i)
        if (dropped_.contains(saver.entries[i].handle))
          for (const NodeDef* node : {saver.node, saver.keys, saver.slices}) gone_[node->name].insert(i);
    return std::ranges::all_of(savers_,
                               [&](const GraphSaver& saver) {
                                 return is_empty(saver) == removed_.contains(saver.node->name);
                               }) &&
           std::ranges::all_of(graph_.nodes, [&](const NodeDef& node) {
             return removed_.contains(node.name) || reads_what_stays(node);
           });
  }

  /// Checks that a node which stays reads nothing that goes away, but for what it saves no more.
  bool reads_what_stays(const NodeDef& node) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string& input = node.inputs[i];
      if (is_control(input)) continue;
      const auto own = gone_.find(node.name), from = gone_.find(node_of(input));
      const bool saves_no_more = node.op == "SaveV2" && i >= first_saved && own != gone_.end() &&
                                 own->second.contains(i - first_saved);
      if (removed_.contains(node_of(input)) && !saves_no_more) return false;
      if (from != gone_.end() && readers_.find(input)->op == "RestoreV2" &&
          from->second.contains(static_cast<size_t>(parse_reference(input).output)))
        return false;
    }
    return true;
  }

  void remove_variable(const std::string& handle) {
    removed_.insert(handle);
    for (const NodeDef* node : readers_.of_data(handle)) {
      removed_.insert(node->name);
      if (node->op == "ReadVariableOp") remove_copies(*node);
    }
  }

  void remove_copies(const NodeDef& value) {
    for (const NodeDef* reader : readers_.of_data(value.name))
      if (reader->op == "Identity" && removed_.insert(reader->name).second) remove_copies(*reader);
  }

  /// Removes a node that saves nothing any more, and those that join its file with others; returns whether
  /// there is nothing else that depends on it.
  bool remove_saver(const NodeDef& node) {
    if (!removed_.insert(node.name).second) return true;
    return std::ranges::all_of(readers_.of(node.name), [&](const NodeDef* reader) {
      return is_one_of(reader->op, {"Identity", "Pack", "MergeV2Checkpoints", "NoOp"}) &&
             !named_.contains(reader->name) && remove_saver(*reader);
    });
  }

  /// Checks for a node that only nodes which go away read or wait for, such as an initial value.
  bool serves_removed(const NodeDef& node) const {
    const std::vector<const NodeDef*>& readers = readers_.of(node.name);
    return !readers.empty() && !named_.contains(node.name) && !node.op.starts_with("Placeholder") &&
           !is_variable(node.op) && !node.op.ends_with("HashTableV2") &&
           std::ranges::all_of(readers, [&](const NodeDef* one) { return removed_.contains(one->name); });
  }

  Result<std::string> write_meta_graph(std::string_view bytes) const {
    std::string written;
    pbf_writer out(written);
    pbf_reader old = read_message(bytes);
    while (old.next()) {
      if (old.tag() == meta_graph::graph_def)
        out.add_message(meta_graph::graph_def, TRY(write_graph(read_bytes(old))));
      else if (old.tag() == meta_graph::collection_def)
        write_collection(read_bytes(old), out);
      else if (old.tag() == meta_graph::saver_def && is_without_saver_)
        old.skip();
      else
        copy_field(old, out);
    }
    return written;
  }

  /// Writes a collection without the variables that go away; not at all if these were all.
  void write_collection(std::string_view entry, pbf_writer& out) const {
    Collection collection = read_collection(entry);
    const auto is_gone = [&](const std::string& value) {
      return dropped_.contains(described_variable(value, readers_));
    };
    if (collection.kind != collection_def::bytes_list || std::erase_if(collection.values, is_gone) == 0) {
      out.add_message(meta_graph::collection_def, entry.data(), entry.size());
      return;
    }
    if (collection.values.empty()) return;
    std::string values, list;
    pbf_writer list_out(list);
    for (const std::string& value : collection.values) list_out.add_bytes(list_of_collection::value, value);
    pbf_writer(values).add_message(collection_def::bytes_list, list);
    write_entry(out, meta_graph::collection_def, collection.name, values);
  }

  Result<std::string> write_graph(std::string_view bytes) const {
    std::string written = TRY(copy_graph(
        bytes, [](std::string_view library) -> Result<std::string> { return std::string(library); }));
    pbf_writer out(written);
    for (const NodeDef& node : graph_.nodes)
      if (!removed_.contains(node.name)) out.add_message(graph_def::node, TRY(write_main_node(node)));
    return written;
  }

  Result<std::string> write_main_node(NodeDef node) const {
    std::erase_if(node.inputs, [&](const std::string& input) {
      return is_control(input) && removed_.contains(node_of(input));
    });
    if (const auto gone = gone_.find(node.name); gone != gone_.end())
      return node.op == "Const" ? write_list(node, gone->second) : write_saver(node, gone->second);
    for (std::string& input : node.inputs)
      if (const auto gone = gone_.find(node_of(input)); gone != gone_.end() && !is_control(input))
        input = renumber(input, gone->second);
    return write_body_node(node);
  }

  static Result<std::string> write_saver(NodeDef node, const std::set<size_t>& gone) {
    node.attributes.set("dtypes", encode_types(without(get_types(node.attributes, "dtypes"), gone)));
    node.attributes.erase("_output_shapes");
    if (node.op == "SaveV2") {
      std::set<size_t> inputs;
      for (const size_t number : gone) inputs.insert(first_saved + number);
      node.inputs = without(node.inputs, inputs);
    }
    return write_body_node(node, {"dtypes", "_output_shapes"});
  }

  static Result<std::string> write_list(NodeDef node, const std::set<size_t>& gone) {
    set_strings(node, without(strings_of(node), gone));
    node.attributes.erase("_output_shapes");
    return write_body_node(node, {"value", "_output_shapes"});
  }

  static std::string renumber(const std::string& input, const std::set<size_t>& gone) {
    const auto number = static_cast<size_t>(parse_reference(input).output);
    const auto before = static_cast<size_t>(std::distance(gone.begin(), gone.lower_bound(number)));
    return number == before ? node_of(input) : fmt::format("{}:{}", node_of(input), number - before);
  }

  const MetaGraph& meta_;
  const GraphDef& graph_;
  const GraphReaders readers_;
  const std::vector<GraphSaver> savers_;
  std::vector<const GraphSaver*> restorers_;      // the model's own, which load the checkpoint
  std::set<std::string> named_;                   // nodes that signatures and collections name
  std::set<std::string> run_;                     // nodes that signatures run
  std::vector<std::string> texts_;                // messages of collections that describe no variables
  std::map<std::string, std::string> keys_;       // tensors of the checkpoint, by the variable's node
  std::set<std::string> dropped_, removed_;       // nodes of variables, and all that go away
  std::map<std::string, std::set<size_t>> gone_;  // numbers in lists, by the nodes of savers and their lists
  bool is_without_saver_ = false;
};

/// Returns the message of the only graph; empty if there are several.
std::string_view find_only_graph(std::string_view bytes) {
  std::string_view only;
  pbf_reader model = read_message(bytes);
  while (model.next(saved_model::meta_graph)) {
    if (!only.empty()) return {};
    only = read_bytes(model);
  }
  return only;
}

}  // namespace

Result<SlimModel> drop_graph_variables(std::string_view bytes, std::string_view original) {
  const std::string_view before = find_only_graph(original), after = find_only_graph(bytes);
  if (before.empty() || after.empty()) return SlimModel{};
  const MetaGraph old_meta = read_meta_graph(before), meta = read_meta_graph(after);
  const GraphDef old_graph = TRY(read_graph(old_meta.graph)), graph = TRY(read_graph(meta.graph));
  const std::set<std::string> unread = GraphVariableDropper(old_meta, old_graph, before).find_unread();
  GraphVariableDropper dropper(meta, graph, after);
  return dropper.find(unread) ? dropper.write(bytes) : SlimModel{};
}

}  // namespace intarsia
