#include "backends/tensorflow/write_graph_def.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/tensorflow/loop_constants.h"
#include "base/protobuf.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"

namespace intarsia::tf {
namespace {

using namespace tensorflow;
using protozero::pbf_writer;

/// Returns what TensorFlow accepts as a node's name.
std::string legal_name(const std::string& name) {
  std::string legal;
  for (char c : name)
    legal += std::isalnum(static_cast<unsigned char>(c)) ||
                     std::string_view("_./-").find(c) != std::string_view::npos
                 ? c
                 : '_';
  if (legal.empty() || !(std::isalnum(static_cast<unsigned char>(legal[0])) || legal[0] == '.'))
    legal.insert(0, "n");
  return legal;
}

/// Region as far as it is written. Must not move: `out` writes to `result`.
struct Writing {
  const Graph& region;
  WrittenGraph result = {};
  pbf_writer out{result.graph_def};
  std::set<std::string> names = {};
  std::set<std::string> functions = {};  // distinct functions
  std::map<ValueId, std::string> tensors = {};
  std::map<std::string, Tensor> known = {};           // tensors that are constants
  std::map<std::string, std::string> variables = {};  // handles of variables of the same value, by constant
};

Status put(Writing& state, NodeDef node);

std::string unique_name(Writing& state, const std::string& name) {
  const std::string legal = legal_name(name);
  std::string candidate = legal;
  for (int i = 1; !state.names.insert(candidate).second; ++i) candidate = fmt::format("{}_{}", legal, i);
  return candidate;
}

/// Returns the handle of a variable that gets the constant's value when the region is opened.
Result<std::string> put_variable(Writing& state, const std::string& tensor, const Tensor& value) {
  if (const auto at = state.variables.find(tensor); at != state.variables.end()) return at->second;
  NodeDef handle{
      unique_name(state, tensor.substr(0, tensor.rfind(':')) + "/variable"), "VarHandleOp", {}, {}, {}};
  handle.attributes.set("dtype", encode_type(data_type_of(value.dtype())));
  handle.attributes.set("shape", encode_shape(to_symbolic(value.shape())));
  handle.attributes.set("shared_name", handle.name);
  NodeDef fill{
      unique_name(state, handle.name + "/fill"), "AssignVariableOp", {}, {handle.name + ":0", tensor}, {}};
  fill.attributes.set("dtype", encode_type(data_type_of(value.dtype())));
  state.result.initializers.push_back(fill.name);
  state.variables[tensor] = handle.name + ":0";
  TRY(put(state, std::move(handle)));
  TRY(put(state, std::move(fill)));
  return state.variables[tensor];
}

/// Returns a FunctionDefLibrary, or an empty view.
std::string_view library_of(const Attributes& attributes) {
  const AttributeValue* value = attributes.find(library_attribute);
  const auto* encoded = value ? std::get_if<EncodedAttribute>(value) : nullptr;
  return encoded ? std::string_view(encoded->bytes) : std::string_view();
}

void collect_library(Writing& state, std::string_view bytes) {
  protozero::pbf_reader library = read_message(bytes);
  while (library.next()) {
    if (library.tag() == function_library::function)
      state.functions.insert(std::string(read_bytes(library)));
    else
      library.skip();
  }
}

/// Writes the loop with fewer values and after it a node of its name, which has all that it had. Returns
/// false if the loop stays as it is.
Result<bool> put_lighter_loop(Writing& state, const NodeDef& node) {
  std::vector<const Tensor*> constants;
  for (const std::string& input : node.inputs) {
    const auto known = state.known.find(input);
    constants.push_back(known == state.known.end() ? nullptr : &known->second);
  }
  const std::string name = unique_name(state, node.name + "/loop");
  std::optional<LighterLoop> lighter =
      TRY(lighten_loop(node, constants, library_of(node.attributes), "/" + name));
  if (!lighter) return false;
  NodeDef outputs{node.name, "IdentityN", {}, node.inputs, {}};
  outputs.attributes.set("T", encode_types(get_types(node.attributes, "T")));
  for (size_t i = 0, place = 0; i < node.inputs.size(); ++i) {
    if (std::ranges::count(lighter->dropped, i) > 0) continue;
    if (std::ranges::count(lighter->handles, i) > 0)
      lighter->loop.inputs[place] = TRY(put_variable(state, node.inputs[i], *constants[i]));
    else
      outputs.inputs[i] = fmt::format("{}:{}", name, place);
    ++place;
  }
  for (const FunctionDef& function : lighter->functions)
    state.functions.insert(TRY(write_function(function)));
  collect_library(state, library_of(node.attributes));  // functions that the loop calls
  lighter->loop.name = name;
  lighter->loop.attributes.erase(library_attribute);
  state.out.add_message(graph_def::node,
                        write_node(lighter->loop, TRY(encode_attributes(lighter->loop.attributes))));
  TRY(put(state, std::move(outputs)));
  return true;
}

Status put(Writing& state, NodeDef node) {
  if (is_loop(node.op) && TRY(put_lighter_loop(state, node))) return {};
  collect_library(state, library_of(node.attributes));
  node.attributes.erase(library_attribute);
  state.out.add_message(graph_def::node, write_node(node, TRY(encode_attributes(node.attributes))));
  return {};
}

Status add_input(Writing& state, const Value& value, ValueId id) {
  if (value.type.opaque)
    return fail("value '{}' is a resource or variant, which cannot enter a region", value.name);
  NodeDef node{
      unique_name(state, "input_" + std::to_string(state.result.inputs.size())), "Placeholder", {}, {}, {}};
  const int type = data_type_of(value.type.dtype);
  if (type == 0)
    return fail("value '{}' is of type {}, which TensorFlow lacks", value.name, dtype_name(value.type.dtype));
  node.attributes.set("dtype", encode_type(type));
  node.attributes.set("shape", encode_shape(value.type.shape));
  state.tensors[id] = node.name + ":0";
  state.result.inputs.push_back(node.name + ":0");
  return put(state, node);
}

NodeDef make_constant(const std::string& name, const Tensor& tensor) {
  NodeDef node{name, "Const", {}, {}, {}};
  node.attributes.set("dtype", encode_type(data_type_of(tensor.dtype())));
  node.attributes.set("value", tensor);
  return node;
}

Result<std::string> add_constant(Writing& state, const std::string& name, const Tensor& tensor) {
  const std::string unique = unique_name(state, name);
  if (tensor.dtype() != DType::string && tensor.bytes() > max_inline_bytes) {
    state.result.constant_names.push_back(unique);
    state.result.constants.push_back(tensor);
  } else {
    TRY(put(state, make_constant(unique, tensor)));
  }
  state.known[unique + ":0"] = tensor;
  return unique + ":0";
}

/// Returns the tensor of a value that a node reads. A constant becomes a node when first read.
Result<std::string> tensor_of(Writing& state, ValueId id) {
  if (auto at = state.tensors.find(id); at != state.tensors.end()) return at->second;
  const Value& value = state.region.value(id);
  if (!value.constant) return fail("it reads '{}', which nothing produces", value.name);
  return state.tensors[id] =
             TRY(add_constant(state, value.name.substr(0, value.name.rfind(':')), *value.constant));
}

/// Returns the tensor of an output, which must not be one that is fed.
Result<std::string> fetched_tensor(Writing& state, ValueId id) {
  std::string tensor = TRY(tensor_of(state, id));
  if (std::ranges::find(state.region.inputs, id) == state.region.inputs.end()) return tensor;
  NodeDef node{unique_name(state, "output_" + std::to_string(state.result.outputs.size())),
               "Identity",
               {},
               {std::move(tensor)},
               {}};
  node.attributes.set("T", encode_type(data_type_of(state.region.value(id).type.dtype)));
  TRY(put(state, node));
  return node.name + ":0";
}

/// Writes the table under its own name, and a node that fills it.
Status add_table(Writing& state, NodeDef table, const Attributes& attributes) {
  const Tensor* keys = attributes.get_tensor(keys_attribute);
  const Tensor* values = attributes.get_tensor(values_attribute);
  if (keys == nullptr || values == nullptr) return fail("the table has no contents");
  table.attributes.erase(keys_attribute);
  table.attributes.erase(values_attribute);
  table.attributes.set("shared_name", table.name);
  NodeDef fill{unique_name(state, table.name + "/fill"), "LookupTableImportV2", {}, {table.name + ":0"}, {}};
  fill.inputs.push_back(TRY(add_constant(state, table.name + "/keys", *keys)));
  fill.inputs.push_back(TRY(add_constant(state, table.name + "/values", *values)));
  fill.attributes.set("Tin", encode_type(data_type_of(keys->dtype())));
  fill.attributes.set("Tout", encode_type(data_type_of(values->dtype())));
  state.result.initializers.push_back(fill.name);
  TRY(put(state, std::move(table)));
  return put(state, std::move(fill));
}

Status add_composite(Writing& state, const Node& node, const Composite& composite,
                     const std::vector<std::string>& inputs) {
  std::map<std::string, std::string> new_names;
  for (const NodeDef& inner : composite.nodes) {
    const std::string name = new_names[inner.name] = unique_name(state, inner.name);
    const Tensor* value = inner.op == "Const" ? inner.attributes.get_tensor("value") : nullptr;
    if (value != nullptr) state.known[name + ":0"] = *value;
  }
  const auto rename = [&](const std::string& reference) -> Result<std::string> {
    if (const std::optional<size_t> number = input_number(reference)) {
      if (*number >= inputs.size()) return fail("reads input {} of {}", *number, inputs.size());
      return inputs[*number];
    }
    const TensorReference from = parse_reference(reference);
    const auto at = new_names.find(from.node);
    if (at == new_names.end()) return fail("reads '{}', which nothing produces", reference);
    return from.output < 0 ? "^" + at->second : fmt::format("{}:{}", at->second, from.output);
  };
  for (NodeDef inner : composite.nodes) {
    inner.name = new_names[inner.name];
    for (std::string& input : inner.inputs) input = TRY(rename(input));
    TRY(put(state, std::move(inner)));
  }
  for (size_t i = 0; i < node.outputs.size() && i < composite.outputs.size(); ++i) {
    if (node.outputs[i] != no_value) state.tensors[node.outputs[i]] = TRY(rename(composite.outputs[i]));
  }
  state.result.has_control_flow = true;
  return {};
}

Status add_node(Writing& state, const Node& node) {
  if (node.domain != "tensorflow") return fail("it is not an operator of TensorFlow");
  std::vector<std::string> inputs;
  for (ValueId input : node.inputs) inputs.push_back(input == no_value ? "" : TRY(tensor_of(state, input)));
  if (const std::optional<Composite> composite = TRY(get_composite(node.attributes)))
    return add_composite(state, node, *composite, inputs);
  NodeDef def{unique_name(state, node.name), node.op, {}, std::move(inputs), node.attributes};
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != no_value) state.tensors[node.outputs[i]] = fmt::format("{}:{}", def.name, i);
  }
  state.result.has_control_flow |= node.attributes.has(library_attribute);
  return node.attributes.has(keys_attribute) ? add_table(state, std::move(def), node.attributes)
                                             : put(state, std::move(def));
}

void write_library(Writing& state) {
  if (state.functions.empty()) return;
  pbf_writer library(state.out, graph_def::library);
  for (const std::string& function : state.functions) library.add_bytes(function_library::function, function);
}

Result<WrittenGraph> write(const Graph& region) {
  Writing state{region};
  for (ValueId input : region.inputs) TRY(add_input(state, region.value(input), input));
  for (const Node& node : region.nodes)
    TRY(with_context(add_node(state, node), "node '{}' ({})", node.name, node.op));
  for (ValueId output : region.outputs) state.result.outputs.push_back(TRY(fetched_tensor(state, output)));
  write_library(state);
  return std::move(state.result);
}

}  // namespace

RegionGraph as_region(const WrittenGraph& written) {
  RegionGraph region{written.graph_def,    written.constant_names,  {}, written.inputs, written.outputs,
                     written.initializers, written.has_control_flow};
  for (const Tensor& constant : written.constants) region.constants.push_back(constant.view());
  return region;
}

Result<WrittenGraph> write_graph_def(const Graph& region) {
  try {
    return write(region);
  } catch (const protozero::exception& error) {
    return fail("damaged attributes ({})", error.what());
  }
}

}  // namespace intarsia::tf
