#include "rewrite/changed_functions.h"

#include <algorithm>

#include "base/protobuf.h"
#include "rewrite/find_bodies.h"
#include "rewrite/inline_calls.h"
#include "rewrite/inner_functions.h"
#include "rewrite/write_saved_model.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"

namespace intarsia {

using namespace tensorflow;
using protozero::pbf_reader;
using protozero::pbf_writer;

namespace {

void write_pair(pbf_writer& out, uint32_t tag, const std::string& key, std::string_view value) {
  pbf_writer entry(out, tag);
  entry.add_string(map_entry::key, key);
  entry.add_bytes(map_entry::value, value.data(), value.size());
}

constexpr const char* returned_program = "intarsia_program_out";  // result of a loop's body

void write_program_argument(pbf_writer& signature, uint32_t tag, const char* name) {
  pbf_writer argument(signature, tag);
  argument.add_string(arg_def::name, name);
  argument.add_int32(arg_def::type, data_type_of(DType::string));
}

/// Writes the function's name, arguments and results, with the program as the last argument, and as the last
/// result if it is returned.
void write_signature(std::string_view old, const std::map<std::string, std::string>& control_returns,
                     bool returns_program, pbf_writer& out) {
  pbf_writer signature(out, function_def::signature);
  pbf_reader fields = read_message(old);
  while (fields.next()) {
    if (fields.tag() == op_def::control_output)
      fields.skip();
    else
      copy_field(fields, signature);
  }
  write_program_argument(signature, op_def::input_arg, program_name);
  if (returns_program) write_program_argument(signature, op_def::output_arg, returned_program);
  for (const auto& [name, node] : control_returns) signature.add_string(op_def::control_output, name);
}

/// Copies an attribute of a function; the shapes of its arguments get that of the program, a scalar.
void write_attribute_entry(std::string_view entry, pbf_writer& out) {
  std::string name;
  std::string_view value;
  pbf_reader fields = read_message(entry);
  while (fields.next()) {
    if (fields.tag() == map_entry::key)
      name = fields.get_string();
    else if (fields.tag() == map_entry::value)
      value = read_bytes(fields);
    else
      fields.skip();
  }
  if (name != "_input_shapes") {
    out.add_message(function_def::attr, entry.data(), entry.size());
    return;
  }
  Attributes attributes;
  attributes.set(name, EncodedAttribute{std::string(value)});
  std::vector<std::optional<SymbolicShape>> shapes = get_shapes(attributes, name);
  shapes.emplace_back(SymbolicShape());
  write_pair(out, function_def::attr, name, encode_shapes(shapes).bytes);
}

}  // namespace

ChangedFunctions::ChangedFunctions(const GraphDef& graph, const std::vector<Body>& bodies) : graph_(graph) {
  for (const Body& body : bodies) {
    if (!body.is_function()) continue;
    bodies_[body.function] = &body;
    changed_.insert(body.function);
  }
  add_users();
}

bool ChangedFunctions::runs_changed(const NodeDef& node) const {
  return std::ranges::any_of(functions_of(node), [&](const std::string& name) { return changed_.contains(name); });
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
    if (!runs_changed(node) || find_called(node, graph_.functions) != nullptr || runs_functions(node.op)) return {};
    return fail("the node '{}' ({}) runs a function of it, and cannot hand it a program", node.name, node.op);
  };
  for (const NodeDef& node : graph_.nodes) TRY(check_node(node));
  for (const auto& [name, function] : graph_.functions)
    for (const NodeDef& node : function.nodes) TRY(check_node(node));
  return {};
}

Result<std::string> ChangedFunctions::write_node(const NodeDef& node, const std::string& program) const {
  if (!runs_changed(node)) return write_body_node(node);
  NodeDef changed = node;
  changed.inputs.insert(std::ranges::find_if(changed.inputs, is_control), program);
  const std::string types_name = types_attribute(node.op);
  std::vector<int32_t> types = get_types(node.attributes, types_name);
  types.push_back(data_type_of(DType::string));
  changed.attributes.set(types_name, encode_types(types));
  std::set<std::string> attributes{types_name};
  for (const char* of_outputs : {"output_shapes", "_output_shapes"}) {
    std::vector<std::optional<SymbolicShape>> shapes = get_shapes(node.attributes, of_outputs);
    if (!is_loop(node.op) || shapes.empty()) continue;
    shapes.emplace_back(SymbolicShape());
    changed.attributes.set(of_outputs, encode_shapes(shapes));
    attributes.insert(of_outputs);
  }
  return write_body_node(changed, attributes);
}

Result<std::string> ChangedFunctions::write(const FunctionDef& function) const {
  const std::string& name = function.signature.name;
  const auto at = bodies_.find(name);
  const Body* body = at == bodies_.end() ? nullptr : at->second;
  const auto& control_returns = body ? body->control_returns : function.control_returns;
  const bool returns_program = loop_bodies_.contains(name);
  std::string bytes;
  pbf_writer out(bytes);
  pbf_reader old = read_message(function.bytes);
  while (old.next()) {
    if (old.tag() == function_def::signature)
      write_signature(read_bytes(old), control_returns, returns_program, out);
    else if (old.tag() == function_def::attr)
      write_attribute_entry(read_bytes(old), out);
    else if (old.tag() == function_def::node || old.tag() == function_def::ret ||
             old.tag() == function_def::control_ret)
      old.skip();
    else
      copy_field(old, out);
  }
  for (const auto& [key, node] : control_returns) write_pair(out, function_def::control_ret, key, node);
  if (body) {
    for (const BodyNode& node : body->nodes)
      out.add_message(function_def::node, TRY(write_node(node.def, program_name)));
    for (const BodyReturn& one : body->returns) write_pair(out, function_def::ret, one.name, one.text);
  } else {
    for (const NodeDef& node : function.nodes)
      out.add_message(function_def::node, TRY(write_node(node, program_name)));
    for (const auto& [key, from] : function.returns) write_pair(out, function_def::ret, key, from);
  }
  if (returns_program) write_pair(out, function_def::ret, returned_program, program_name);
  return bytes;
}

}  // namespace intarsia
