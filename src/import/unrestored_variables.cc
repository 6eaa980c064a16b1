#include "import/unrestored_variables.h"

#include <map>
#include <set>

#include "import/operator_roles.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"

namespace intarsia {
namespace {

using namespace tensorflow;

/// Finds the variables that the restoring node does not read, by their names.
std::map<std::string, const NodeDef*> find_candidates(const MetaGraph& meta, const GraphDef& graph) {
  std::set<std::string> restored;
  for (const NodeDef& node : graph.nodes) {
    if (node.name != parse_reference(meta.restore_op).node) continue;
    for (const std::string& input : node.inputs) restored.insert(parse_reference(input).node);
  }
  std::map<std::string, const NodeDef*> candidates;
  for (const NodeDef& node : graph.nodes) {
    if (is_variable(node.op) && !is_reference_variable(node.op) && !restored.contains(node.name))
      candidates[node.name] = &node;
  }
  return candidates;
}

/// Returns the objects that the function called by a node captures, which are the call's last inputs; null if
/// unknown.
const std::vector<uint32_t>* find_captures(const ObjectGraph& objects, const NodeDef& call) {
  const AttributeValue* function = call.attributes.find("f");
  const std::vector<std::string> names = function ? get_functions(*function) : std::vector<std::string>();
  const auto at = names.size() == 1 ? objects.captures.find(names[0]) : objects.captures.end();
  return at != objects.captures.end() && at->second.size() <= call.inputs.size() ? &at->second : nullptr;
}

}  // namespace

std::vector<SavedVariable> find_unrestored_variables(const MetaGraph& meta, const GraphDef& graph) {
  std::map<std::string, const NodeDef*> candidates = find_candidates(meta, graph);
  if (candidates.empty() || meta.object_graph.empty()) return {};
  const ObjectGraph objects = read_saved_objects(meta.object_graph);
  const std::vector<std::optional<ObjectPath>> paths = find_paths(objects);
  std::vector<SavedVariable> found;
  for (const NodeDef& call : graph.nodes) {
    const std::vector<uint32_t>* captures = find_captures(objects, call);
    for (size_t i = 0; captures != nullptr && i < captures->size(); ++i) {
      const uint32_t object = (*captures)[i];
      const auto variable =
          candidates.find(parse_reference(call.inputs[call.inputs.size() - captures->size() + i]).node);
      if (variable == candidates.end() || object >= paths.size() || !paths[object]) continue;
      found.push_back({*variable->second, *paths[object]});
      candidates.erase(variable);
    }
  }
  return found;
}

}  // namespace intarsia
