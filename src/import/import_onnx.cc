#include "import/import_onnx.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "base/bytes.h"
#include "base/protobuf.h"
#include "base/utf8.h"
#include "graph/verify_graph.h"
#include "import/onnx_attributes.h"
#include "import/onnx_messages.h"
#include "import/onnx_subgraph.h"
#include "import/size_expressions.h"
#include "onnx/onnx_fields.h"

namespace intarsia {
namespace {

using onnx::RawFunction;
using onnx::RawGraph;
using onnx::RawModel;
using onnx::RawNode;

constexpr int deepest_onnx_call = 32;         // depth limit of functions that call functions
constexpr size_t max_onnx_nodes = 1'000'000;  // includes calls of functions, to limit inlining

/// Meaning of names where a node stands: in the model, or in the body of an inlined function.
struct Scope {
  std::string prefix;                                  // prefix of names that the body defines
  std::map<std::string, std::string> names;            // formal inputs and outputs -> names of the call
  std::map<std::string, std::string> call_attributes;  // attributes that ref_attr_name may refer to
  const std::map<std::string, int>* opsets = nullptr;
  int depth = 0;

  std::string resolve(const std::string& name) const {
    if (depth == 0 || name.empty()) return name;
    auto at = names.find(name);
    return at == names.end() ? prefix + name : at->second;
  }
};

/// A model that is partly read.
struct Imported {
  TensorSource source;
  Graph graph;
  std::unordered_map<std::string, ValueId> ids;  // value ids, by name
  std::vector<bool> defined;  // whether it is an input, a constant or a node's output; by value
  std::map<std::tuple<std::string, std::string, std::string>, RawFunction>
      functions;     // keyed by domain, name, overload
  size_t calls = 0;  // inlined calls of functions
};

Status add_node(Imported& state, const RawNode& raw, const Scope& scope);

Status check_model(const RawModel& model) {
  if (!model.has_graph) return fail("is not an ONNX model: it has no graph");
  if (model.ir_version > onnx::newest_ir_version) {
    return fail(ErrorKind::version, "has ONNX IR version {}, this Intarsia reads up to {}", model.ir_version,
                onnx::newest_ir_version);
  }
  for (const auto& [domain, version] : model.opsets) {
    if (domain.empty() && (version < onnx::oldest_opset || version > onnx::newest_opset)) {
      return fail(ErrorKind::version,
                  "has opset {}, this Intarsia reads {} to {}; convert it with onnx.version_converter",
                  version, onnx::oldest_opset, onnx::newest_opset);
    }
  }
  return {};
}

ValueId find_or_add(Imported& state, const std::string& name) {
  auto [at, is_new] = state.ids.try_emplace(name, no_value);
  if (is_new) at->second = state.graph.add_value(name);
  return at->second;
}

Status define(Imported& state, ValueId id, const char* what) {
  if (state.defined.size() < state.graph.values.size())
    state.defined.resize(state.graph.values.size(), false);
  if (state.defined[index(id)]) return fail("{} '{}' is defined twice", what, state.graph.value(id).name);
  state.defined[index(id)] = true;
  return {};
}

Status add_constant(Imported& state, const std::string& name, Tensor tensor) {
  TRY(check_utf8(name, "constant"));
  const ValueId id = find_or_add(state, name);
  TRY(define(state, id, "constant"));
  state.graph.value(id).type = ValueType{tensor.dtype(), to_symbolic(tensor.shape()), false, {}};
  state.graph.value(id).constant = std::move(tensor);
  return {};
}

Status add_constants(Imported& state, const RawGraph& raw) {
  for (std::string_view bytes : raw.initializers) {
    std::string name;
    Tensor tensor = TRY(read_onnx_tensor(bytes, state.source, &name));
    TRY(add_constant(state, name, std::move(tensor)));
  }
  for (std::string_view bytes : raw.sparse_initializers) {
    std::string name;
    Tensor tensor = TRY(read_onnx_sparse_tensor(bytes, state.source, &name));
    TRY(add_constant(state, name, std::move(tensor)));
  }
  return {};
}

/// Checks a node's names, before any of its text becomes part of a message.
Status check_names(const RawNode& raw, size_t number) {
  const std::string node = fmt::format("node number {}", number);
  TRY(check_utf8(raw.name, node + ": its name"));
  for (const std::string& op : {raw.op, raw.domain, raw.overload})
    TRY(check_utf8(op, node + ": its operator"));
  for (const std::string& input : raw.inputs) TRY(check_utf8(input, node + ": its input"));
  for (const std::string& output : raw.outputs) TRY(check_utf8(output, node + ": its output"));
  return {};
}

Status check_names(const onnx::NamedType& port, const char* what) {
  TRY(check_utf8(port.name, what));
  if (!port.type.shape) return {};
  for (const Dim& dim : *port.type.shape)
    for (const std::string& symbol : dim.symbols())
      TRY(check_utf8(symbol, fmt::format("{} '{}': its size", what, port.name)));
  return {};
}

void name_open_sizes(const std::string& name, ValueType& type) {
  if (!type.shape) return;
  for (size_t axis = 0; axis < type.shape->size(); ++axis) {
    Dim& dim = (*type.shape)[axis];
    if (!dim.is_known()) dim = Dim::named(fmt::format("{}_dim{}", name, axis));
  }
}

/// Adds the inputs. An initializer that is also listed as an input is a constant: its default is the only
/// known value.
Status add_inputs(Imported& state, const RawGraph& raw) {
  for (std::string_view bytes : raw.inputs) {
    onnx::NamedType input = onnx::read_value_info(bytes);
    TRY(check_names(input, "input"));
    const ValueId id = find_or_add(state, input.name);
    if (state.graph.value(id).constant) continue;
    TRY(define(state, id, "input"));
    if (input.name.empty()) return fail("has an input without a name");
    if (!input.type.opaque && input.type.dtype == DType::undefined)
      return fail("input '{}' has no known element type", input.name);
    if (input.has_negative_size)
      return fail("input '{}' has a negative size in its shape {}", input.name,
                  print_shape(*input.type.shape));
    name_open_sizes(input.name, input.type);
    state.graph.value(id).type = std::move(input.type);
    state.graph.inputs.push_back(id);
  }
  return {};
}

/// Adds the model's own claim about a value's type, kept until shape inference knows better.
void add_known_type(Imported& state, onnx::NamedType known) {
  auto at = state.ids.find(known.name);
  if (at == state.ids.end() || !check_names(known, "value")) return;
  Value& value = state.graph.value(at->second);
  if (value.constant || value.producer == no_node || value.type != ValueType{}) return;
  value.type = std::move(known.type);
}

Status add_outputs(Imported& state, const RawGraph& raw) {
  for (std::string_view bytes : raw.outputs) {
    onnx::NamedType output = onnx::read_value_info(bytes);
    TRY(check_names(output, "output"));
    auto at = state.ids.find(output.name);
    if (at == state.ids.end()) return fail("no node produces output '{}'", output.name);
    if (std::ranges::find(state.graph.outputs, at->second) != state.graph.outputs.end())
      return fail("output '{}' is listed twice; give each output its own value (an Identity of it)",
                  output.name);
    state.graph.outputs.push_back(at->second);
    add_known_type(state, std::move(output));
  }
  if (state.graph.outputs.empty()) return fail("has no outputs");
  return {};
}

Status check_all_defined(Imported& state) {
  state.defined.resize(state.graph.values.size(), false);
  for (const Node& node : state.graph.nodes) {
    for (ValueId read : values_read(node)) {
      if (!state.defined[index(read)])
        return fail("node '{}' ({}) reads '{}', which nothing produces", node.name, node.op,
                    state.graph.value(read).name);
    }
  }
  for (ValueId output : state.graph.outputs) {
    if (!state.defined[index(output)])
      return fail("no node produces output '{}'", state.graph.value(output).name);
  }
  return {};
}

Status add_attribute(Imported& state, std::string_view bytes, const Scope& scope, Node& node) {
  NamedAttribute attribute = TRY(read_onnx_attribute(bytes, state.source));
  TRY(check_utf8(attribute.name, "attribute"));
  std::string changed;
  if (!attribute.refers_to.empty()) {
    auto at = scope.call_attributes.find(attribute.refers_to);
    if (at == scope.call_attributes.end()) return {};  // the call omits this optional attribute
    changed = rename_attribute(at->second, attribute.name);
    attribute = TRY(read_onnx_attribute(changed, state.source));
  }
  if (auto* encoded = std::get_if<EncodedAttribute>(&attribute.value)) {
    if (scope.depth > 0) {
      SubgraphChanges changes{{}, scope.call_attributes};
      for (const std::string& captured : find_captured_names(encoded->bytes))
        changes.names[captured] = scope.resolve(captured);
      encoded->bytes = rewrite_subgraphs(encoded->bytes, changes);
    }
    for (const std::string& captured : find_captured_names(encoded->bytes)) {
      TRY(check_utf8(captured, "its subgraph's value"));
      const ValueId id = find_or_add(state, captured);
      if (std::ranges::find(node.captures, id) == node.captures.end()) node.captures.push_back(id);
    }
  }
  node.attributes.set(std::move(attribute.name), std::move(attribute.value));
  return {};
}

Result<Tensor> read_sparse_attribute(const EncodedAttribute& attribute, TensorSource& source) {
  protozero::pbf_reader message(attribute.bytes);
  if (!message.next(onnx::attribute::sparse_tensor)) return fail("has no value");
  const protozero::data_view view = message.get_view();
  return read_onnx_sparse_tensor({view.data(), view.size()}, source);
}

Result<Tensor> constant_of(const Attributes::Entry& entry, TensorSource& source) {
  const auto from_list = [](DType dtype, const auto& list, bool scalar) {
    using T = std::remove_cvref_t<decltype(list[0])>;
    Tensor tensor(dtype, scalar ? Shape{} : Shape{static_cast<int64_t>(list.size())});
    std::ranges::copy(list, tensor.as<T>().begin());
    return tensor;
  };
  if (auto* tensor = std::get_if<Tensor>(&entry.value)) return *tensor;
  if (auto* list = std::get_if<std::vector<float>>(&entry.value)) return from_list(DType::f32, *list, false);
  if (auto* list = std::get_if<std::vector<int64_t>>(&entry.value))
    return from_list(DType::i64, *list, false);
  if (auto* list = std::get_if<std::vector<std::string>>(&entry.value))
    return from_list(DType::string, *list, false);
  if (auto* one = std::get_if<float>(&entry.value))
    return from_list(DType::f32, std::vector<float>{*one}, true);
  if (auto* one = std::get_if<int64_t>(&entry.value))
    return from_list(DType::i64, std::vector<int64_t>{*one}, true);
  if (auto* one = std::get_if<std::string>(&entry.value))
    return from_list(DType::string, std::vector<std::string>{*one}, true);
  return read_sparse_attribute(std::get<EncodedAttribute>(entry.value), source);
}

Status add_constant_node(Imported& state, const Node& node, const RawNode& raw, const Scope& scope) {
  if (raw.outputs.size() != 1 || node.attributes.size() != 1)
    return fail("wants one output and one attribute");
  return add_constant(state, scope.resolve(raw.outputs[0]),
                      TRY(constant_of(*node.attributes.begin(), state.source)));
}

Status collect_call_attributes(Imported& state, const RawNode& call, const RawFunction& function,
                               const Scope& caller, Scope& scope) {
  for (const auto& [name, bytes] : function.default_attributes)
    scope.call_attributes[name] = std::string(bytes);
  for (std::string_view bytes : call.attributes) {
    const NamedAttribute attribute = TRY(read_onnx_attribute(bytes, state.source));
    if (attribute.refers_to.empty()) {
      scope.call_attributes[attribute.name] = std::string(bytes);
    } else if (auto at = caller.call_attributes.find(attribute.refers_to);
               at != caller.call_attributes.end()) {
      scope.call_attributes[attribute.name] = rename_attribute(at->second, attribute.name);
    }
  }
  return {};
}

Status add_identity(Imported& state, const std::string& from, const std::string& to) {
  Node node{
      to, "Identity",
      "", state.graph.opsets.contains("") ? state.graph.opsets[""] : static_cast<int>(onnx::newest_opset),
      {}, {},
      {}, {}};
  node.inputs = {find_or_add(state, from)};
  node.outputs = {find_or_add(state, to)};
  TRY(define(state, node.outputs[0], "value"));
  state.graph.add_node(std::move(node));
  return {};
}

Status inline_function(Imported& state, const RawNode& call, const RawFunction& function, const Scope& caller,
                       const std::string& name) {
  if (caller.depth >= deepest_onnx_call)
    return fail("functions call each other more than {} deep", deepest_onnx_call);
  Scope scope;
  scope.depth = caller.depth + 1;
  scope.prefix = fmt::format("{}#{}/", name, state.calls++);
  scope.opsets = &function.opsets;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    scope.names[function.inputs[i]] = i < call.inputs.size() ? caller.resolve(call.inputs[i]) : "";
  }
  TRY(collect_call_attributes(state, call, function, caller, scope));
  std::vector<std::pair<std::string, std::string>> passed;  // outputs of the function that are its inputs
  for (size_t i = 0; i < function.outputs.size() && i < call.outputs.size(); ++i) {
    if (call.outputs[i].empty()) continue;
    const std::string target = caller.resolve(call.outputs[i]);
    auto [at, is_new] = scope.names.try_emplace(function.outputs[i], target);
    if (!is_new) passed.emplace_back(at->second, target);
  }
  for (std::string_view node : function.nodes) TRY(add_node(state, onnx::read_node(node), scope));
  for (const auto& [from, to] : passed) TRY(add_identity(state, from, to));
  return {};
}

Status add_named_node(Imported& state, const RawNode& raw, const Scope& scope, const std::string& name) {
  auto function = state.functions.find(std::make_tuple(raw.domain, raw.op, raw.overload));
  if (function != state.functions.end()) return inline_function(state, raw, function->second, scope, name);
  Node node;
  node.name = name;
  node.op = raw.op;
  node.domain = raw.domain;
  auto opset = scope.opsets->find(raw.domain);
  if (opset == scope.opsets->end() && raw.domain.empty())
    return fail("the model does not declare a version of the standard operators");
  node.version = opset == scope.opsets->end() ? 1 : opset->second;
  state.graph.opsets.try_emplace(raw.domain, node.version);
  for (std::string_view bytes : raw.attributes) TRY(add_attribute(state, bytes, scope, node));
  if (node.op == "Constant" && node.domain.empty()) return add_constant_node(state, node, raw, scope);
  for (const std::string& input : raw.inputs) {
    const std::string resolved = scope.resolve(input);
    node.inputs.push_back(resolved.empty() ? no_value : find_or_add(state, resolved));
  }
  for (const std::string& output : raw.outputs) {
    const std::string resolved = scope.resolve(output);
    node.outputs.push_back(resolved.empty() ? no_value : find_or_add(state, resolved));
    if (!resolved.empty()) TRY(define(state, node.outputs.back(), "value"));
  }
  state.graph.add_node(std::move(node));
  return {};
}

Status add_node(Imported& state, const RawNode& raw, const Scope& scope) {
  if (state.graph.nodes.size() + state.calls > max_onnx_nodes)
    return fail("has over {} nodes after its functions are inlined", max_onnx_nodes);
  TRY(check_names(raw, state.graph.nodes.size()));
  const std::string name =
      scope.prefix + (!raw.name.empty() || raw.outputs.empty() ? raw.name : raw.outputs[0]);
  return with_context(add_named_node(state, raw, scope, name), "node '{}' ({})", name, raw.op);
}

Result<Graph> import_whole(std::string_view bytes, TensorSource source) {
  Imported state{.source = std::move(source)};
  const RawModel model = onnx::read_model(bytes);
  TRY(check_model(model));
  for (std::string_view function_bytes : model.functions) {
    RawFunction function = onnx::read_function(function_bytes);
    auto key = std::make_tuple(function.domain, function.name, function.overload);
    state.functions.emplace(std::move(key), std::move(function));
  }
  state.graph.opsets = model.opsets;
  const RawGraph raw = onnx::read_graph(model.graph);
  state.graph.name = raw.name;
  TRY(check_utf8(state.graph.name, "the graph's name"));
  TRY(add_constants(state, raw));
  TRY(add_inputs(state, raw));
  Scope scope;
  scope.opsets = &state.graph.opsets;
  for (std::string_view node : raw.nodes) TRY(add_node(state, onnx::read_node(node), scope));
  TRY(add_outputs(state, raw));
  for (std::string_view info : raw.value_infos) add_known_type(state, onnx::read_value_info(info));
  TRY(check_all_defined(state));
  read_size_expressions(state.graph);
  TRY(sort_nodes(state.graph));
  return std::move(state.graph);
}

/// Adds the values that a subgraph reads from outside, constants or inputs.
Status add_captures(Imported& state, const Graph& outer, const Node& node, std::string_view attribute) {
  const std::vector<std::string> names = find_captured_names(attribute);
  for (ValueId captured : node.captures) {
    const Value& value = outer.value(captured);
    if (std::ranges::find(names, value.name) == names.end()) continue;
    const ValueId id = find_or_add(state, value.name);
    TRY(define(state, id, "value read from outside"));
    state.graph.value(id).type = value.type;
    state.graph.value(id).constant = value.constant;
    if (!value.constant) state.graph.inputs.push_back(id);
  }
  return {};
}

Status add_body_inputs(Imported& state, const RawGraph& raw) {
  for (std::string_view bytes : raw.inputs) {
    onnx::NamedType input = onnx::read_value_info(bytes);
    TRY(check_names(input, "input"));
    const ValueId id = find_or_add(state, input.name);
    TRY(define(state, id, "input"));
    state.graph.value(id).type = std::move(input.type);
    state.graph.inputs.push_back(id);
  }
  return {};
}

Result<Graph> import_body(const Graph& outer, const Node& node, std::string_view attribute) {
  Imported state;
  state.graph.opsets = outer.opsets;
  state.graph.opsets[node.domain] = node.version;
  protozero::pbf_reader message = read_message(attribute);
  if (!message.next(onnx::attribute::g)) return fail("is not a subgraph");
  const RawGraph raw = onnx::read_graph(read_bytes(message));
  state.graph.name = raw.name;
  TRY(check_utf8(state.graph.name, "the subgraph's name"));
  TRY(add_constants(state, raw));
  TRY(add_body_inputs(state, raw));
  TRY(add_captures(state, outer, node, attribute));
  const std::map<std::string, int> opsets = state.graph.opsets;
  Scope scope;
  scope.opsets = &opsets;
  for (std::string_view one : raw.nodes) TRY(add_node(state, onnx::read_node(one), scope));
  TRY(add_outputs(state, raw));
  TRY(check_all_defined(state));
  TRY(sort_nodes(state.graph));
  for (Value& value : state.graph.values)
    if (value.producer != no_node) value.type = {};
  return std::move(state.graph);
}

/// Reads a graph by `read`, and verifies it. Damaged messages, which throw, are errors.
template <typename Read>
Result<Graph> import_guarded(const Read& read) {
  try {
    Graph graph = TRY(read());
    TRY(verify_graph(graph));
    return graph;
  } catch (const protozero::exception& error) {
    return fail("is not a valid ONNX model: damaged protobuf ({})", error.what());
  } catch (const std::length_error& error) {
    return fail("{}", error.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "does not fit in memory");
  }
}

Result<Graph> import_bytes(std::string_view bytes, TensorSource source) {
  return import_guarded([&] { return import_whole(bytes, std::move(source)); });
}

}  // namespace

Result<Graph> import_onnx(const std::string& path) {
  const MappedFile file = TRY(map_file(path));
  TensorSource source{file.owner, std::filesystem::path(path).parent_path().string(), {}};
  if (source.folder.empty()) source.folder = ".";
  return with_context(import_bytes(as_text(file.bytes), std::move(source)), "model '{}'", path);
}

Result<Graph> import_onnx_bytes(std::string_view bytes) {
  return with_context(import_bytes(bytes, {}), "model");
}

Result<Graph> import_onnx_body(const Graph& outer, NodeId node, std::string_view attribute) {
  return import_guarded([&] { return import_body(outer, outer.node(node), attribute); });
}

}  // namespace intarsia
