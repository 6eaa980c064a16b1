#include "rewrite/body.h"

#include "base/protobuf.h"
#include "rewrite/inline_calls.h"
#include "tensorflow/attributes.h"
#include "tensorflow/fields.h"
#include "tensorflow/map_entry.h"

namespace intarsia {

using namespace tensorflow;

namespace {

/// Fields of ArgAttrs (function.proto).
namespace arg_attrs {
enum : uint32_t { attr = 1 };
}

/// Returns the shape that the attributes of an argument record.
std::optional<SymbolicShape> recorded_shape(std::string_view attributes) {
  protozero::pbf_reader message = read_message(attributes);
  while (message.next(arg_attrs::attr)) {
    const auto [name, value] = read_entry(message.get_message());
    if (name != "_output_shapes") continue;
    Attributes shapes;
    shapes.set(name, EncodedAttribute{std::string(value)});
    for (const std::optional<SymbolicShape>& shape : get_shapes(shapes, name)) return shape;
  }
  return std::nullopt;
}

/// Returns the shape that TensorFlow recorded for an argument; nullopt if it recorded none.
std::optional<SymbolicShape> argument_shape(const FunctionDef& function, size_t number) {
  protozero::pbf_reader message = read_message(function.bytes);
  while (message.next()) {
    if (message.tag() != function_def::arg_attr) {
      message.skip();
      continue;
    }
    size_t argument = 0;
    std::string_view attributes;
    protozero::pbf_reader entry = message.get_message();
    while (entry.next()) {
      if (entry.tag() == map_entry::key)
        argument = entry.get_uint32();
      else if (entry.tag() == map_entry::value)
        attributes = read_bytes(entry);
      else
        entry.skip();
    }
    if (argument == number) return recorded_shape(attributes);
  }
  return std::nullopt;
}

}  // namespace

std::map<std::string, size_t> Body::index() const {
  std::map<std::string, size_t> numbers;
  for (size_t i = 0; i < nodes.size(); ++i) numbers[nodes[i].def.name] = i;
  return numbers;
}

std::set<std::string> Body::names() const {
  std::set<std::string> names;
  for (const BodyNode& node : nodes) names.insert(node.def.name);
  for (const BodyArgument& argument : arguments) names.insert(argument.name);
  return names;
}

std::set<std::string> Body::find_needed() const {
  const std::map<std::string, size_t> numbers = index();
  std::set<std::string> needed;
  std::vector<std::string> open;
  for (const BodyReturn& one : returns) open.push_back(node_of(one.text));
  for (const auto& [name, node] : control_returns) open.push_back(node);
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const auto at = numbers.find(name);
    if (at == numbers.end() || !needed.insert(name).second) continue;
    for (const std::string& input : nodes[at->second].def.inputs) open.push_back(node_of(input));
  }
  return needed;
}

std::string node_of(const std::string& reference) {
  const std::string name = is_control(reference) ? reference.substr(1) : reference;
  return name.substr(0, name.find(':'));
}

Status resolve_sources(Body& body, const ReferenceResolver& resolver) {
  std::vector<NodeDef> nodes;
  for (const BodyNode& node : body.nodes) nodes.push_back(node.def);
  NameScope scope{nodes, body.is_function()};
  TRY(index_nodes(scope));
  for (BodyNode& node : body.nodes) {
    node.sources.clear();
    for (const std::string& input : node.def.inputs)
      if (!is_control(input))
        node.sources.push_back(TRY(with_context(resolver.resolve(scope, input), "node '{}'", node.def.name)));
  }
  for (BodyReturn& one : body.returns) one.source = TRY(resolver.resolve(scope, one.text));
  return {};
}

Result<Body> make_function_body(const FunctionDef& function, const CalledFunctions& called) {
  Body body{.function = function.signature.name, .control_returns = function.control_returns};
  for (size_t i = 0; i < function.signature.inputs.size(); ++i) {
    const ArgDef& argument = function.signature.inputs[i];
    body.arguments.push_back({argument.name, argument.name, argument.type, argument_shape(function, i), {}});
  }
  for (const NodeDef& node : function.nodes) body.nodes.push_back({node, {}, node.name});
  for (const ArgDef& result : function.signature.outputs) {
    const auto from = function.returns.find(result.name);
    if (from == function.returns.end())
      return fail("function '{}' does not return '{}'", function.signature.name, result.name);
    body.returns.push_back({result.name, from->second, {}});
  }
  const ReferenceResolver resolver(called.functions, called.source);
  TRY(inline_calls(body, called, resolver));
  TRY(resolve_sources(body, resolver));
  return body;
}

Result<Body> make_graph_body(const GraphDef& graph, const std::vector<std::string>& returned,
                             const CalledFunctions& called) {
  Body body;
  for (const NodeDef& node : graph.nodes) body.nodes.push_back({node, {}, node.name});
  for (const std::string& tensor : returned) body.returns.push_back({tensor, tensor, {}});
  const ReferenceResolver resolver(called.functions, called.source);
  TRY(inline_calls(body, called, resolver));
  TRY(resolve_sources(body, resolver));
  return body;
}

Result<std::string> write_body_node(const NodeDef& node, const std::set<std::string>& changed) {
  if (node.bytes.empty()) return write_node(node, TRY(encode_attributes(node.attributes)));
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_string(node_def::name, node.name);
  out.add_string(node_def::op, node.op);
  for (const std::string& input : node.inputs) out.add_string(node_def::input, input);
  protozero::pbf_reader old = read_message(node.bytes);
  while (old.next()) {
    if (old.tag() <= node_def::input) {
      old.skip();
    } else if (old.tag() == node_def::attr) {
      const std::string_view entry = read_bytes(old);
      const std::string name = read_entry(read_message(entry)).first;
      if (name != "_class" && !changed.contains(name))
        out.add_message(node_def::attr, entry.data(), entry.size());
    } else {
      copy_field(old, out);
    }
  }
  for (const std::string& name : changed)
    if (const AttributeValue* value = node.attributes.find(name))
      write_entry(out, node_def::attr, name, TRY(write_attribute(*value)));
  return bytes;
}

}  // namespace intarsia
