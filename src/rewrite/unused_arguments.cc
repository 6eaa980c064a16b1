#include "rewrite/unused_arguments.h"

#include <algorithm>

#include "rewrite/body.h"
#include "rewrite/find_bodies.h"
#include "rewrite/inline_calls.h"
#include "rewrite/inner_functions.h"
#include "rewrite/saver_lists.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"
#include "tensorflow/fields.h"

namespace intarsia {

using namespace tensorflow;

namespace {

constexpr const char *body_attribute = "body", *read_only = "_read_only_resource_inputs";

std::vector<std::string> bodies_of(const NodeDef& loop) {
  const AttributeValue* body = loop.attributes.find(body_attribute);
  return body ? get_functions(*body) : std::vector<std::string>();
}

/// Returns where the number of an output begins in "loop:output:3"; npos if the reference is written
/// otherwise.
size_t find_output_number(const std::string& reference) {
  const size_t at = reference.rfind(':');
  const bool is_whole =
      at != std::string::npos && reference.find(':') != at &&
      std::ranges::all_of(reference.substr(at + 1), [](char c) { return c >= '0' && c <= '9'; });
  return is_whole && at + 1 < reference.size() && reference.size() - at < 10 ? at + 1 : std::string::npos;
}

}  // namespace

UnusedArguments::UnusedArguments(const GraphDef& graph, const ObjectGraph& objects) : graph_(graph) {
  for (const NodeDef& node : graph.nodes) note_runs(node, false);
  for (const auto& [name, function] : graph.functions) {
    for (const NodeDef& node : function.nodes) note_runs(node, true);
    keep_inputs(name, function, objects);
  }
  for (const auto& [name, function] : graph.functions) note_uses(name, function);
  add_givers(used_, givers_);
}

std::set<size_t> UnusedArguments::of(const std::string& function) const {
  std::set<size_t> unused;
  const auto at = graph_.functions.find(function);
  for (size_t i = 0; at != graph_.functions.end() && i < at->second.signature.inputs.size(); ++i)
    if (at->second.signature.inputs[i].type == resource_type && !used_.contains({function, i}))
      unused.insert(i);
  return unused;
}

std::set<size_t> UnusedArguments::of_run_by(const NodeDef& node) const {
  const std::vector<std::string> functions = functions_run_by(node, graph_.functions);
  return functions.empty() ? std::set<size_t>() : of(functions[0]);
}

void UnusedArguments::keep_all(const std::string& function) {
  const auto at = graph_.functions.find(function);
  for (size_t i = 0; at != graph_.functions.end() && i < at->second.signature.inputs.size(); ++i)
    used_.insert({function, i});
}

/// Notes how a node runs functions: only calls, loops and branches can give these less, and in the model's
/// own graph only calls, as signatures name outputs of its nodes.
void UnusedArguments::note_runs(const NodeDef& node, bool in_function) {
  const std::vector<std::string> functions = functions_run_by(node, graph_.functions);
  const bool is_call = find_called(node, graph_.functions) != nullptr;
  if (functions.empty() || (!is_call && !in_function)) {
    for (const std::string& name : functions_of(node)) keep_all(name);
    return;
  }
  link(functions);
  const std::vector<std::string> bodies = is_loop(node.op) ? bodies_of(node) : std::vector<std::string>();
  for (const std::string& name : functions)
    (std::ranges::find(bodies, name) != bodies.end() ? bodies_ : others_).insert(name);
}

/// Lets functions agree on what they use: they get the same inputs.
void UnusedArguments::link(const std::vector<std::string>& functions) {
  for (size_t other = 1; other < functions.size(); ++other)
    for (size_t i = 0; i < graph_.functions.at(functions[0]).signature.inputs.size(); ++i) {
      givers_[{functions[0], i}].push_back({functions[other], i});
      givers_[{functions[other], i}].push_back({functions[0], i});
    }
}

void UnusedArguments::note_uses(const std::string& name, const FunctionDef& function) {
  const bool returns_all = function.signature.inputs.size() == function.signature.outputs.size();
  if (bodies_.contains(name) && (others_.contains(name) || !returns_all)) keep_all(name);
  std::map<std::string, size_t> arguments;
  std::map<std::string, const NodeDef*> loops;
  for (size_t i = 0; i < function.signature.inputs.size(); ++i)
    arguments[function.signature.inputs[i].name] = i;
  for (const NodeDef& node : function.nodes)
    if (is_loop(node.op)) loops[node.name] = &node;
  for (const NodeDef& node : function.nodes) {
    size_t number = 0;
    for (const std::string& input : node.inputs) {
      if (is_control(input)) continue;
      const size_t at = number++;
      if (const auto loop = loops.find(node_of(input)); loop != loops.end())
        note_result_of_loop(*loop->second, input);
      if (const auto argument = arguments.find(node_of(input)); argument != arguments.end())
        note_input(node, at, {name, argument->second});
    }
  }
  for (size_t i = 0; i < function.signature.outputs.size(); ++i) {
    const auto from = function.returns.find(function.signature.outputs[i].name);
    if (from == function.returns.end()) continue;
    if (const auto loop = loops.find(node_of(from->second)); loop != loops.end())
      note_result_of_loop(*loop->second, from->second);
    const auto argument = arguments.find(node_of(from->second));
    const bool is_carried = bodies_.contains(name) && argument != arguments.end() && argument->second == i;
    if (argument != arguments.end() && !is_carried) used_.insert({name, argument->second});
  }
}

/// Notes that a function gives one of its arguments to a node.
void UnusedArguments::note_input(const NodeDef& node, size_t number, const FunctionArgument& given) {
  const std::vector<std::string> functions = functions_run_by(node, graph_.functions);
  const size_t first = first_passed(node.op);
  if (functions.empty() || number < first) used_.insert(given);
  for (const std::string& function : functions)
    if (number >= first) givers_[{function, number - first}].push_back(given);
}

/// Notes that something takes what a loop has carried around.
void UnusedArguments::note_result_of_loop(const NodeDef& loop, const std::string& reference) {
  const size_t at = find_output_number(reference);
  for (const std::string& body : bodies_of(loop))
    if (at == std::string::npos)
      keep_all(body);
    else
      used_.insert({body, std::stoul(reference.substr(at))});
}

/// Keeps the arguments that users of the model pass to a function themselves: all but its captures.
void UnusedArguments::keep_inputs(const std::string& name, const FunctionDef& function,
                                  const ObjectGraph& objects) {
  const auto captures = objects.captures.find(name);
  if (captures == objects.captures.end()) return;
  const size_t count = function.signature.inputs.size();
  for (size_t i = 0; i + captures->second.size() < count; ++i) used_.insert({name, i});
  others_.insert(name);
}

Result<std::string> write_without_arguments(NodeDef node, const std::set<size_t>& numbers) {
  if (numbers.empty()) return write_body_node(node);
  const size_t first = first_passed(node.op);
  std::vector<std::string> inputs;
  size_t number = 0;
  for (const std::string& input : node.inputs)
    if (is_control(input) || number++ < first || !numbers.contains(number - 1 - first))
      inputs.push_back(input);
  node.inputs = std::move(inputs);
  const std::string types = types_attribute(node.op);
  node.attributes.set(types, encode_types(without(get_types(node.attributes, types), numbers)));
  node.attributes.erase(read_only);
  std::set<std::string> changed{types, read_only};
  for (const char* of_outputs : {"output_shapes", "_output_shapes"}) {
    const std::vector<std::optional<SymbolicShape>> shapes = get_shapes(node.attributes, of_outputs);
    if (!is_loop(node.op) || shapes.empty()) continue;
    node.attributes.set(of_outputs, encode_shapes(without(shapes, numbers)));
    changed.insert(of_outputs);
  }
  return write_body_node(node, changed);
}

std::string renumber_output(const std::string& reference, const std::set<size_t>& gone) {
  const size_t at = find_output_number(reference);
  if (at == std::string::npos) return reference;
  const size_t number = std::stoul(reference.substr(at));
  const auto before = std::distance(gone.begin(), gone.lower_bound(number));
  return reference.substr(0, at) + std::to_string(number - static_cast<size_t>(before));
}

}  // namespace intarsia
