#include "rewrite/changed_variables.h"

#include "rewrite/import_body.h"
#include "rewrite/inline_calls.h"
#include "rewrite/inner_functions.h"
#include "tensorflow/fields.h"
#include "tensorflow/object_graph.h"

namespace intarsia {

using namespace tensorflow;

namespace {

/// Returns the arguments whose variables functions change, or hand to functions that do.
Result<std::set<FunctionArgument>> find_changed_arguments(const GraphDef& graph, EffectFinder& effects) {
  std::set<FunctionArgument> changed;
  std::map<FunctionArgument, std::vector<FunctionArgument>> givers;
  for (const auto& [name, function] : graph.functions) {
    std::map<std::string, size_t> handles;
    for (size_t i = 0; i < function.signature.inputs.size(); ++i)
      if (function.signature.inputs[i].type == resource_type) handles[function.signature.inputs[i].name] = i;
    for (const NodeDef& node : function.nodes) {
      const std::vector<std::string> functions = functions_run_by(node, graph.functions);
      const size_t first = first_passed(node.op);
      const bool changes = functions.empty() && !handles.empty() && TRY(effects.has_effects(node));
      size_t number = 0;
      for (const std::string& input : node.inputs) {
        if (is_control(input)) continue;
        const size_t at = number++;
        const auto handle = handles.find(node_of(input));
        if (handle == handles.end()) continue;
        for (const std::string& run : functions)
          if (at >= first) givers[{run, at - first}].push_back({name, handle->second});
        if (changes) changed.insert({name, handle->second});
      }
    }
  }
  add_givers(changed, givers);
  return changed;
}

/// Returns the node of the variable that each object is, as far as the model's own graph calls functions that
/// capture it.
std::map<uint32_t, std::string> find_nodes_of_objects(const GraphDef& graph, const ObjectGraph& objects) {
  std::map<uint32_t, std::string> nodes;
  for (const NodeDef& call : graph.nodes) {
    const FunctionDef* called = find_called(call, graph.functions);
    const auto captures = called ? objects.captures.find(called->signature.name) : objects.captures.end();
    if (captures == objects.captures.end()) continue;
    std::vector<std::string> inputs;
    for (const std::string& input : call.inputs)
      if (!is_control(input)) inputs.push_back(input);
    const std::vector<uint32_t>& captured = captures->second;
    for (size_t i = 0; i < captured.size() && captured.size() <= inputs.size(); ++i)
      nodes[captured[i]] = node_of(inputs[inputs.size() - captured.size() + i]);
  }
  return nodes;
}

/// Adds the variables that nodes of the bodies change, or hand to functions that do.
Status add_changed_by_bodies(const std::vector<SignatureBody>& bodies, const GraphDef& graph,
                             const std::set<FunctionArgument>& arguments, EffectFinder& effects,
                             std::set<std::string>& changed) {
  for (const SignatureBody& one : bodies) {
    const std::map<std::string, size_t> numbers = one.body.index();
    for (const std::string& name : one.body.find_needed()) {
      const BodyNode& node = one.body.nodes[numbers.at(name)];
      const std::vector<std::string> functions = functions_run_by(node.def, graph.functions);
      const size_t first = first_passed(node.def.op);
      const bool changes_all = functions.empty() && TRY(effects.has_effects(node.def));
      for (size_t i = 0; i < node.sources.size(); ++i) {
        const bool changes = std::ranges::any_of(functions, [&](const std::string& function) {
          return i >= first && arguments.contains({function, i - first});
        });
        if (!changes && !changes_all) continue;
        if (const std::string handle = find_handle(one.body, numbers, node.sources[i]); !handle.empty())
          changed.insert(node_of(handle));
      }
    }
  }
  return {};
}

}  // namespace

Result<std::set<std::string>> find_changed_variables(const MetaGraph& meta, const GraphDef& graph,
                                                     const std::vector<SignatureBody>& bodies,
                                                     EffectFinder& effects) {
  std::set<std::string> changed;
  const std::set<FunctionArgument> arguments = TRY(find_changed_arguments(graph, effects));
  TRY(add_changed_by_bodies(bodies, graph, arguments, effects, changed));
  if (meta.object_graph.empty()) return changed;
  const ObjectGraph objects = read_saved_objects(meta.object_graph);
  const std::map<uint32_t, std::string> nodes = find_nodes_of_objects(graph, objects);
  for (const auto& [function, argument] : arguments) {
    const auto captures = objects.captures.find(function);
    if (captures == objects.captures.end()) continue;
    const size_t count = graph.functions.at(function).signature.inputs.size(),
                 captured = captures->second.size();
    if (argument + captured < count || captured > count) continue;
    const auto node = nodes.find(captures->second[argument + captured - count]);
    if (node != nodes.end()) changed.insert(node->second);
  }
  return changed;
}

}  // namespace intarsia
