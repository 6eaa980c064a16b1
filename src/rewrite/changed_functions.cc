#include "rewrite/changed_functions.h"

#include <algorithm>

#include "base/protobuf.h"
#include "rewrite/find_bodies.h"
#include "rewrite/inline_calls.h"
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

/// Writes the function's name, arguments and results, with the program as the last argument.
void write_signature(std::string_view old, const std::map<std::string, std::string>& control_returns,
                     pbf_writer& out) {
  pbf_writer signature(out, function_def::signature);
  pbf_reader fields = read_message(old);
  while (fields.next()) {
    if (fields.tag() == op_def::control_output)
      fields.skip();
    else
      copy_field(fields, signature);
  }
  {
    pbf_writer argument(signature, op_def::input_arg);
    argument.add_string(arg_def::name, program_name);
    argument.add_int32(arg_def::type, data_type_of(DType::string));
  }
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
  for (size_t before = 0; before != changed_.size();) {
    before = changed_.size();
    for (const auto& [name, function] : graph.functions)
      if (std::ranges::any_of(function.nodes, [&](const NodeDef& node) { return is_call(node); }))
        changed_.insert(name);
  }
}

bool ChangedFunctions::is_call(const NodeDef& node) const {
  const FunctionDef* called = find_called(node, graph_.functions);
  return called != nullptr && changed_.contains(called->signature.name);
}

Result<std::string> ChangedFunctions::write_call(const NodeDef& call, const std::string& program) const {
  NodeDef changed = call;
  changed.inputs.insert(std::ranges::find_if(changed.inputs, is_control), program);
  std::vector<int32_t> types = get_types(call.attributes, "Tin");
  types.push_back(data_type_of(DType::string));
  changed.attributes.set("Tin", encode_types(types));
  return write_body_node(changed, {"Tin"});
}

Result<std::string> ChangedFunctions::write(const FunctionDef& function) const {
  const auto at = bodies_.find(function.signature.name);
  const Body* body = at == bodies_.end() ? nullptr : at->second;
  const auto& control_returns = body ? body->control_returns : function.control_returns;
  std::string bytes;
  pbf_writer out(bytes);
  pbf_reader old = read_message(function.bytes);
  while (old.next()) {
    if (old.tag() == function_def::signature)
      write_signature(read_bytes(old), control_returns, out);
    else if (old.tag() == function_def::attr)
      write_attribute_entry(read_bytes(old), out);
    else if (old.tag() == function_def::node || old.tag() == function_def::ret ||
             old.tag() == function_def::control_ret)
      old.skip();
    else
      copy_field(old, out);
  }
  for (const auto& [name, node] : control_returns) write_pair(out, function_def::control_ret, name, node);
  if (body) {
    for (const BodyNode& node : body->nodes)
      out.add_message(function_def::node, TRY(write_body_node(node.def)));
    for (const BodyReturn& one : body->returns) write_pair(out, function_def::ret, one.name, one.text);
    return bytes;
  }
  for (const NodeDef& node : function.nodes)
    out.add_message(function_def::node,
                    is_call(node) ? TRY(write_call(node, program_name)) : std::string(node.bytes));
  for (const auto& [name, from] : function.returns) write_pair(out, function_def::ret, name, from);
  return bytes;
}

}  // namespace intarsia
