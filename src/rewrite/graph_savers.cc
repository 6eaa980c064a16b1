#include "rewrite/graph_savers.h"

#include "rewrite/body.h"
#include "rewrite/saver_lists.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"

namespace intarsia {

using namespace tensorflow;

namespace {

const std::vector<const NodeDef*> no_nodes;

/// Returns the handle of the variable that the tensor is read from; empty if it is something else.
std::string find_saved_handle(const std::string& tensor, const GraphReaders& readers, size_t hops) {
  const NodeDef* node = readers.find(tensor);
  for (size_t i = 0; i < hops && node != nullptr; ++i) {
    if (node->op == "VarHandleOp") return node->name;
    if (node->inputs.empty() || (node->op != "Identity" && node->op != "ReadVariableOp")) break;
    node = readers.find(node->inputs[0]);
  }
  return {};
}

/// Finds the variables that the outputs of a RestoreV2 are assigned to.
void find_restored_handles(GraphSaver& saver, const GraphReaders& readers) {
  std::vector<std::pair<const NodeDef*, size_t>> open{{saver.node, 0}};  // nodes, and what they hold
  for (size_t next = 0; next < open.size() && next <= 4 * saver.entries.size(); ++next) {
    const auto [from, number] = open[next];
    for (const NodeDef* reader : readers.of_data(from->name)) {
      for (size_t i = 0; i < reader->inputs.size(); ++i) {
        if (is_control(reader->inputs[i]) || node_of(reader->inputs[i]) != from->name) continue;
        const int output = parse_reference(reader->inputs[i]).output;
        const size_t entry = from == saver.node ? static_cast<size_t>(output) : number;
        if (entry >= saver.entries.size()) continue;
        if (reader->op == "Identity") open.emplace_back(reader, entry);
        if (reader->op != "AssignVariableOp" || i != 1) continue;
        const NodeDef* handle = readers.find(reader->inputs[0]);
        if (handle != nullptr && handle->op == "VarHandleOp") saver.entries[entry].handle = handle->name;
      }
    }
  }
}

/// Reads the lists of a saver; returns whether they are TensorFlow's own.
bool read_lists(GraphSaver& saver, const GraphReaders& readers) {
  const NodeDef& node = *saver.node;
  if (node.inputs.size() < first_saved) return false;
  saver.keys = readers.find(node.inputs[1]);
  saver.slices = readers.find(node.inputs[2]);
  for (const NodeDef* list : {saver.keys, saver.slices})
    if (list == nullptr || list->op != "Const" || readers.of(list->name).size() != 1) return false;
  const std::vector<std::string> keys = strings_of(*saver.keys), slices = strings_of(*saver.slices);
  const std::vector<int32_t> types = get_types(node.attributes, "dtypes");
  if (keys.empty() || keys.size() != types.size() || keys.size() != slices.size()) return false;
  for (size_t i = 0; i < keys.size(); ++i)
    saver.entries.push_back({keys[i], types[i], slices[i].empty(), {}});
  return true;
}

}  // namespace

GraphReaders::GraphReaders(const GraphDef& graph) {
  for (const NodeDef& node : graph.nodes) {
    nodes_[node.name] = &node;
    std::set<std::string> data, all;
    for (const std::string& input : node.inputs) {
      all.insert(node_of(input));
      if (!is_control(input)) data.insert(node_of(input));
    }
    for (const std::string& name : data) data_[name].push_back(&node);
    for (const std::string& name : all) all_[name].push_back(&node);
  }
}

const NodeDef* GraphReaders::find(const std::string& reference) const {
  const auto at = nodes_.find(node_of(reference));
  return at == nodes_.end() ? nullptr : at->second;
}

const std::vector<const NodeDef*>& GraphReaders::of_data(const std::string& node) const {
  const auto at = data_.find(node);
  return at == data_.end() ? no_nodes : at->second;
}

const std::vector<const NodeDef*>& GraphReaders::of(const std::string& node) const {
  const auto at = all_.find(node);
  return at == all_.end() ? no_nodes : at->second;
}

std::set<std::string> GraphReaders::needed_by(const std::set<std::string>& nodes) const {
  std::set<std::string> needed;
  std::vector<std::string> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const NodeDef* node = find(open.back());
    open.pop_back();
    if (node == nullptr || !needed.insert(node->name).second) continue;
    for (const std::string& input : node->inputs) open.push_back(node_of(input));
  }
  return needed;
}

std::vector<GraphSaver> find_graph_savers(const GraphDef& graph, const GraphReaders& readers) {
  std::vector<GraphSaver> savers;
  for (const NodeDef& node : graph.nodes) {
    if (node.op != "SaveV2" && node.op != "RestoreV2") continue;
    GraphSaver saver{&node, nullptr, nullptr, {}};
    if (!read_lists(saver, readers)) return {};
    if (saver.saves() && node.inputs.size() < first_saved + saver.entries.size()) return {};
    for (size_t i = 0; saver.saves() && i < saver.entries.size(); ++i)
      saver.entries[i].handle = find_saved_handle(node.inputs[first_saved + i], readers, graph.nodes.size());
    if (!saver.saves()) find_restored_handles(saver, readers);
    savers.push_back(std::move(saver));
  }
  return savers;
}

}  // namespace intarsia
