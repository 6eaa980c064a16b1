#include "rewrite/changed_functions.h"

#include <algorithm>

#include "rewrite/find_bodies.h"
#include "rewrite/function_edit.h"
#include "rewrite/inline_calls.h"
#include "rewrite/inner_functions.h"
#include "rewrite/written_program.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"

namespace intarsia {

using namespace tensorflow;

ChangedFunctions::ChangedFunctions(const GraphDef& graph, const std::vector<Body>& bodies,
                                   std::vector<std::string> programs)
    : graph_(graph), programs_(std::move(programs)) {
  for (const Body& body : bodies) {
    if (!body.is_function()) continue;
    bodies_[body.function] = &body;
    changed_.insert(body.function);
  }
  add_users();
}

const Body* ChangedFunctions::body_of(const std::string& function) const {
  const auto at = bodies_.find(function);
  return at == bodies_.end() ? nullptr : at->second;
}

bool ChangedFunctions::runs_changed(const NodeDef& node) const {
  return std::ranges::any_of(functions_of(node),
                             [&](const std::string& name) { return changed_.contains(name); });
}

/// Adds the function that the node is in, and the others that it runs; returns whether these are new.
bool ChangedFunctions::add_user(const std::string& user, const NodeDef& node) {
  if (!runs_changed(node)) return false;
  const size_t before = changed_.size();
  if (!user.empty()) changed_.insert(user);
  for (const std::string& name : functions_of(node)) changed_.insert(name);
  if (const AttributeValue* body = node.attributes.find("body"); body != nullptr && is_loop(node.op))
    for (std::string& name : get_functions(*body)) loop_bodies_.insert(std::move(name));
  return changed_.size() != before;
}

void ChangedFunctions::add_users() {
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const NodeDef& node : graph_.nodes) is_new = add_user("", node) || is_new;
    for (const auto& [name, function] : graph_.functions)
      for (const NodeDef& node : function.nodes) is_new = add_user(name, node) || is_new;
  }
}

Status ChangedFunctions::check() const {
  const auto check_node = [&](const NodeDef& node) -> Status {
    if (runs_changed(node) && get_bool(node.attributes, "_XlaMustCompile", false))
      return fail("XLA compiles what the node '{}' calls (jit_compile=True), and takes no program",
                  node.name);
    if (!runs_changed(node) || find_called(node, graph_.functions) != nullptr || runs_functions(node.op))
      return {};
    return fail("the node '{}' ({}) runs a function of it, and cannot hand it a program", node.name, node.op);
  };
  for (const NodeDef& node : graph_.nodes) TRY(check_node(node));
  for (const auto& [name, function] : graph_.functions)
    for (const NodeDef& node : function.nodes) TRY(check_node(node));
  return {};
}

Result<std::string> ChangedFunctions::write_node(const NodeDef& node, bool in_function) const {
  if (!runs_changed(node)) return write_body_node(node);
  NodeDef changed = node;
  for (const std::string& program : programs_)
    changed.inputs.insert(std::ranges::find_if(changed.inputs, is_control),
                          program_input(program, in_function));
  const std::string types_name = types_attribute(node.op);
  std::vector<int32_t> types = get_types(node.attributes, types_name);
  types.insert(types.end(), programs_.size(), data_type_of(DType::string));
  changed.attributes.set(types_name, encode_types(types));
  std::set<std::string> attributes{types_name};
  for (const char* of_outputs : {"output_shapes", "_output_shapes"}) {
    std::vector<std::optional<SymbolicShape>> shapes = get_shapes(node.attributes, of_outputs);
    if (!is_loop(node.op) || shapes.empty()) continue;
    shapes.insert(shapes.end(), programs_.size(), SymbolicShape());
    changed.attributes.set(of_outputs, encode_shapes(shapes));
    attributes.insert(of_outputs);
  }
  return write_body_node(changed, attributes);
}

Result<std::string> ChangedFunctions::write(const FunctionDef& function) const {
  const std::string& name = function.signature.name;
  const Body* body = body_of(name);
  FunctionEdit edit{.original = function,
                    .nodes = {},
                    .returns = function.returns,
                    .control_returns = body ? body->control_returns : function.control_returns,
                    .programs = programs_,
                    .returns_programs = loop_bodies_.contains(name)};
  if (body) {
    for (const BodyNode& node : body->nodes) edit.nodes.push_back(TRY(write_node(node.def, true)));
    for (const BodyReturn& one : body->returns) edit.returns[one.name] = one.text;
  } else {
    for (const NodeDef& node : function.nodes) edit.nodes.push_back(TRY(write_node(node, true)));
  }
  return write_function_edit(edit);
}

}  // namespace intarsia
