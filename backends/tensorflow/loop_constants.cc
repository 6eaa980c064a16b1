#include "backends/tensorflow/loop_constants.h"

#include <algorithm>

#include "base/protobuf.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"

namespace intarsia::tf {
namespace {

using namespace tensorflow;

/// Returns the argument that a value of the body is, possibly through Identity nodes; empty if the body
/// computes it.
std::string argument_behind(const FunctionDef& body, std::string reference) {
  for (size_t steps = 0; steps <= body.nodes.size(); ++steps) {
    if (reference.find(':') == std::string::npos) return reference;
    const std::string name = reference.substr(0, reference.find(':'));
    const auto node = std::ranges::find(body.nodes, name, &NodeDef::name);
    if (node == body.nodes.end() || node->op != "Identity" || node->inputs.empty()) return {};
    reference = node->inputs[0];
  }
  return {};
}

bool is_given_back(const FunctionDef& body, size_t i) {
  const auto returned = body.returns.find(body.signature.outputs[i].name);
  return returned != body.returns.end() &&
         argument_behind(body, returned->second) == body.signature.inputs[i].name;
}

/// Returns a name that no node and no argument has.
std::string unused_name(const FunctionDef& function, std::string name) {
  const auto is_used = [&] {
    return std::ranges::find(function.nodes, name, &NodeDef::name) != function.nodes.end() ||
           std::ranges::find(function.signature.inputs, name, &ArgDef::name) !=
               function.signature.inputs.end();
  };
  while (is_used()) name += "_";
  return name;
}

void replace_reference(FunctionDef& function, const std::string& old, const std::string& renamed) {
  for (NodeDef& reader : function.nodes) std::ranges::replace(reader.inputs, old, renamed);
  for (auto& [name, from] : function.returns) {
    if (from == old) from = renamed;
  }
}

/// Removes the argument; a Const node takes its place.
void take_inside(FunctionDef& function, size_t i, const Tensor& value) {
  const std::string argument = function.signature.inputs[i].name;
  NodeDef node{unused_name(function, argument + "_value"), "Const", {}, {}, {}};
  node.attributes.set("dtype", encode_type(data_type_of(value.dtype())));
  node.attributes.set("value", value);
  replace_reference(function, argument, node.name + ":output:0");
  replace_reference(function, "^" + argument, "^" + node.name);
  function.nodes.push_back(std::move(node));
  function.signature.inputs.erase(function.signature.inputs.begin() + static_cast<ptrdiff_t>(i));
}

void drop_result(FunctionDef& body, size_t i) {
  body.returns.erase(body.signature.outputs[i].name);
  body.signature.outputs.erase(body.signature.outputs.begin() + static_cast<ptrdiff_t>(i));
}

/// Makes the argument a variable's handle: an Identity of it, which replaced a read of the variable when the
/// model was frozen, reads the variable again, and everything else reads a new ReadVariableOp.
void take_handle(FunctionDef& function, size_t i, DType dtype) {
  ArgDef& argument = function.signature.inputs[i];
  Attributes attributes;
  attributes.set("dtype", encode_type(data_type_of(dtype)));
  const NodeDef read{
      unused_name(function, argument.name + "_value"), "ReadVariableOp", {}, {argument.name}, attributes};
  std::vector<std::string> identities;
  for (NodeDef& node : function.nodes) {
    if (node.op != "Identity" || node.inputs.empty() || node.inputs[0] != argument.name) continue;
    node.op = "ReadVariableOp";
    node.attributes = attributes;
    node.inputs[0].clear();  // empty until the rest is replaced
    identities.push_back(node.name);
  }
  for (const std::string& name : identities)
    replace_reference(function, name + ":output:0", name + ":value:0");
  replace_reference(function, argument.name, read.name + ":value:0");
  for (NodeDef& node : function.nodes) {
    if (!node.inputs.empty() && node.inputs[0].empty()) node.inputs[0] = argument.name;
  }
  function.nodes.push_back(read);
  argument.type = resource_type;
}

void give_handle_back(FunctionDef& body, size_t i) {
  body.returns[body.signature.outputs[i].name] = body.signature.inputs[i].name;
  body.signature.outputs[i].type = resource_type;
}

/// Returns `output_shapes` for the values that stay; nullopt if it has another length. Handles are scalars.
std::optional<EncodedAttribute> keep_shapes(const Attributes& attributes, const LighterLoop& changes,
                                            size_t count) {
  const AttributeValue* value = attributes.find("output_shapes");
  const auto* encoded = value ? std::get_if<EncodedAttribute>(value) : nullptr;
  if (encoded == nullptr) return std::nullopt;
  EncodedAttribute kept;
  size_t number = 0;
  {
    protozero::pbf_writer out(kept.bytes);
    protozero::pbf_writer list(out, attr_value::list);
    protozero::pbf_reader message = read_message(encoded->bytes);
    while (message.next(attr_value::list)) {
      protozero::pbf_reader shapes = message.get_message();
      for (; shapes.next(list_value::shape); ++number) {
        const std::string_view shape = read_bytes(shapes);
        if (std::ranges::count(changes.dropped, number) > 0) continue;
        const bool is_handle = std::ranges::count(changes.handles, number) > 0;
        list.add_bytes(list_value::shape, shape.data(), is_handle ? 0 : shape.size());
      }
    }
  }
  return number == count ? std::optional(kept) : std::nullopt;
}

void change_node(LighterLoop& changes) {
  NodeDef& loop = changes.loop;
  std::vector<int32_t> types = get_types(loop.attributes, "T");
  std::optional<EncodedAttribute> shapes = keep_shapes(loop.attributes, changes, types.size());
  for (size_t handle : changes.handles) types[handle] = resource_type;
  for (size_t input : changes.dropped) {  // last one first
    loop.inputs.erase(loop.inputs.begin() + static_cast<ptrdiff_t>(input));
    types.erase(types.begin() + static_cast<ptrdiff_t>(input));
  }
  loop.attributes.set("T", encode_types(types));
  loop.attributes.set("cond", encode_function(changes.functions[0].signature.name));
  loop.attributes.set("body", encode_function(changes.functions[1].signature.name));
  loop.attributes.erase("_num_original_outputs");
  if (shapes)
    loop.attributes.set("output_shapes", std::move(*shapes));
  else
    loop.attributes.erase("output_shapes");
}

/// Checks that both functions and the list of types have as many values as the node.
bool agree(const NodeDef& loop, const FunctionDef& condition, const FunctionDef& body) {
  const size_t count = loop.inputs.size();
  return get_types(loop.attributes, "T").size() == count && condition.signature.inputs.size() == count &&
         body.signature.inputs.size() == count && body.signature.outputs.size() == count;
}

}  // namespace

bool is_loop(const std::string& op) { return op == "While" || op == "StatelessWhile"; }

Result<std::optional<LighterLoop>> lighten_loop(const NodeDef& loop,
                                                const std::vector<const Tensor*>& constants,
                                                std::string_view library, const std::string& suffix) {
  const auto condition = TRY(find_function(library, loop.attributes, "cond")),
             body = TRY(find_function(library, loop.attributes, "body"));
  if (!condition || !body || !agree(loop, *condition, *body)) return std::nullopt;
  LighterLoop lighter{loop, {}, {}, {*condition, *body}};
  for (size_t i = constants.size(); i-- > 0;) {
    if (constants[i] == nullptr || !is_given_back(*body, i)) continue;
    const bool is_single = element_count(constants[i]->shape()) == 1;
    if (!is_single && constants[i]->dtype() == DType::string) continue;
    (is_single ? lighter.dropped : lighter.handles).push_back(i);
    if (is_single) drop_result(lighter.functions[1], i);
    for (FunctionDef& function : lighter.functions) {
      if (is_single)
        take_inside(function, i, *constants[i]);
      else
        take_handle(function, i, constants[i]->dtype());
    }
    if (!is_single) give_handle_back(lighter.functions[1], i);
  }
  if (lighter.dropped.empty() && lighter.handles.empty()) return std::nullopt;
  for (FunctionDef& function : lighter.functions) function.signature.name += suffix;
  change_node(lighter);
  return lighter;
}

}  // namespace intarsia::tf
