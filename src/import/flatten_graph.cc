#include "import/flatten_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/add_once.h"
#include "import/freeze_function.h"
#include "import/name_scope.h"
#include "import/operator_roles.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"
#include "tensorflow/dtypes.h"

namespace intarsia {
namespace {

using namespace tensorflow;

constexpr size_t max_nodes = 1'000'000, max_calls = 100'000;  // limits on inlining

bool is_table(const std::string& op) { return op == "HashTableV2" || op == "MutableHashTableV2"; }

struct VariableHandle {
  std::string node;
  int32_t data_type;
  ValueId value;  // constant that the variable becomes; no_value until it is read
};

/// A model whose functions are being inlined.
struct Flattened {
  const ReadSaved& read_saved;
  std::map<std::string, Tensor> saved_variables;
  std::map<std::string, TableContents> saved_tables;
  const std::map<std::string, FunctionDef>& functions;
  ReferenceResolver resolver;
  FunctionFreezer freezer;
  std::vector<std::string> wanted;  // output tensors, in the model's own graph
  Graph graph;
  std::set<std::string> names;  // names of nodes and values
  size_t calls = 0;             // inlined calls of functions
  std::map<ValueId, VariableHandle> variables;
};

Status flatten(Flattened& state, NameScope& scope, const std::vector<std::string>& wanted);

/// Reads the contents of all needed variables and tables at once.
Status read_contents(Flattened& state, const NameScope& scope, const std::vector<bool>& needed) {
  std::vector<std::string> variables;
  std::vector<SavedTable> tables;
  for (size_t i = 0; i < scope.nodes.size(); ++i) {
    const NodeDef& node = scope.nodes[i];
    if (!needed[i] || (!is_variable(node.op) && !is_table(node.op))) continue;
    if (!state.read_saved)
      return fail(
          "the graph is not frozen: '{}' is a variable or table, whose contents a SavedModel holds; give "
          "its folder",
          node.name);
    if (is_reference_variable(node.op)) {
      return fail(
          "'{}' is a reference variable of TensorFlow 1, which is not read: export the model with resource "
          "variables (tf.compat.v1.enable_resource_variables) or freeze it to a .pb",
          node.name);
    }
    if (is_variable(node.op))
      variables.push_back(node.name);
    else
      tables.push_back(
          {node.name, get_dtype(node.attributes, "key_dtype"), get_dtype(node.attributes, "value_dtype")});
  }
  if (!state.read_saved) return {};
  SavedContents contents = TRY(state.read_saved(variables, tables));
  for (size_t i = 0; i < variables.size(); ++i)
    state.saved_variables[variables[i]] = std::move(contents.variables[i]);
  for (size_t i = 0; i < tables.size(); ++i)
    state.saved_tables[tables[i].node] = std::move(contents.tables[i]);
  return {};
}

std::string unique_name(Flattened& state, const std::string& name, const std::string& prefix) {
  if (state.names.insert(name).second) return name;
  std::string longer = prefix + name;
  for (int i = 1; !state.names.insert(longer).second; ++i) longer = fmt::format("{}{}_{}", prefix, name, i);
  return longer;
}

/// Returns the value of a tensor of the scope; adds an output that was not requested before to its node.
Result<ValueId> value_of(Flattened& state, NameScope& scope, const std::string& reference) {
  if (auto at = scope.values.find(reference); at != scope.values.end()) return at->second;
  const TensorReference tensor = parse_reference(reference);
  const auto made = scope.made.find(tensor.node);
  if (made == scope.made.end() || tensor.output < 0 || tensor.output > max_outputs_of_a_node)
    return fail("reads '{}', which nothing produces", reference);
  std::vector<ValueId>& outputs = state.graph.node(made->second).outputs;
  const size_t number = static_cast<size_t>(tensor.output);
  if (outputs.size() <= number) outputs.resize(number + 1, no_value);
  const ValueId value = state.graph.add_value(
      unique_name(state, fmt::format("{}:{}", state.graph.node(made->second).name, number), ""));
  state.graph.value(value).producer = made->second;
  state.graph.node(made->second).outputs[number] = value;
  scope.values[reference] = value;
  return value;
}

Result<std::vector<ValueId>> values_of(Flattened& state, NameScope& scope,
                                       const std::vector<std::string>& references) {
  std::vector<ValueId> values;
  for (const std::string& reference : references) values.push_back(TRY(value_of(state, scope, reference)));
  return values;
}

/// Returns the function that the node calls exactly once, unconditionally; null if there is none.
const FunctionDef* called_function(const Flattened& state, const NodeDef& node) {
  std::string name = node.op;
  if (calls_function(node.op)) {
    const AttributeValue* attribute = node.attributes.find("f");
    const std::vector<std::string> names = attribute ? get_functions(*attribute) : std::vector<std::string>();
    if (names.size() == 1) name = names[0];
  }
  const auto at = state.functions.find(name);
  return at == state.functions.end() ? nullptr : &at->second;
}

Status inline_call(Flattened& state, NameScope& caller, const NodeDef& call, const FunctionDef& function,
                   const std::vector<std::string>& inputs) {
  if (caller.depth >= deepest_call) return fail("functions call each other more than {} deep", deepest_call);
  if (++state.calls > max_calls) return fail("the model calls functions more than {} times", max_calls);
  if (inputs.size() != function.signature.inputs.size()) {
    return fail("it calls '{}' with {} inputs, want {}", function.signature.name, inputs.size(),
                function.signature.inputs.size());
  }
  NameScope scope{function.nodes, true, caller.prefix + call.name + "/", caller.depth + 1};
  for (size_t i = 0; i < inputs.size(); ++i)
    scope.values[function.signature.inputs[i].name] = TRY(value_of(state, caller, inputs[i]));
  TRY(index_nodes(scope));
  for (const NodeDef& node : function.nodes) {
    if (changes_state(node.op)) return frozen_error(node);
  }
  std::vector<std::string> wanted;
  for (const ArgDef& result : function.signature.outputs) {
    const auto from = function.returns.find(result.name);
    if (from == function.returns.end())
      return fail("function '{}' does not return '{}'", function.signature.name, result.name);
    wanted.push_back(TRY(state.resolver.resolve(scope, from->second)));
  }
  TRY(flatten(state, scope, wanted));
  for (size_t i = 0; i < wanted.size(); ++i)
    caller.values[fmt::format("{}:{}", call.name, i)] = TRY(value_of(state, scope, wanted[i]));
  return {};
}

Status add_table_contents(Flattened& state, const NodeDef& table, Attributes& attributes) {
  const auto contents = state.saved_tables.find(table.name);
  if (contents == state.saved_tables.end())
    return fail("the table '{}' is created by a function; its contents are not saved", table.name);
  attributes.set(keys_attribute, contents->second.keys);
  attributes.set(values_attribute, contents->second.values);
  return {};
}

/// Adds a node to the graph. `name` is the node's own; its name in the graph may get the scope's prefix.
Status add_node(Flattened& state, NameScope& scope, const std::string& name, NodeDef def,
                std::vector<ValueId> inputs) {
  if (is_table(def.op)) TRY(add_table_contents(state, def, def.attributes));
  std::string library = TRY(state.freezer.write_library(def));
  if (!library.empty()) def.attributes.set(library_attribute, EncodedAttribute{std::move(library)});
  for (const char* noise : {"_output_shapes", "_class", "_XlaMustCompile", "config_proto",
                            "_read_only_resource_inputs", "_collective_manager_ids"})
    def.attributes.erase(noise);
  Node node;
  node.name = unique_name(state, name, scope.prefix);
  node.op = std::move(def.op);
  node.domain = "tensorflow";
  node.version = 1;
  node.inputs = std::move(inputs);
  node.attributes = std::move(def.attributes);
  scope.made[name] = state.graph.add_node(std::move(node));
  return {};
}

Status emit_constant(Flattened& state, NameScope& scope, const NodeDef& node) {
  const Tensor* tensor = node.attributes.get_tensor("value");
  if (tensor == nullptr)
    return add_node(state, scope, node.name, node, {});  // the type is one that only TensorFlow can hold
  scope.values[node.name + ":0"] =
      state.graph.add_constant(unique_name(state, node.name + ":0", scope.prefix), *tensor);
  return {};
}

Status emit_aliases(NameScope& scope, const NodeDef& node, const std::vector<ValueId>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) scope.values[fmt::format("{}:{}", node.name, i)] = inputs[i];
  return {};
}

/// Adds a variable's handle as a value without a producer, identified by its variable; no handle is left at
/// the end.
Status emit_variable(Flattened& state, NameScope& scope, const NodeDef& node) {
  if (!state.saved_variables.contains(node.name))
    return fail("the variable '{}' is created by a function; its contents are not saved", node.name);
  const ValueId handle = state.graph.add_value(unique_name(state, node.name + ":0", scope.prefix),
                                               ValueType{DType::undefined, std::nullopt, true, {}});
  state.variables[handle] = {node.name, get_type(node.attributes, "dtype"), no_value};
  scope.values[node.name + ":0"] = handle;
  return {};
}

VariableInputs variable_inputs(const Flattened& state, const std::vector<ValueId>& inputs) {
  VariableInputs found;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (auto at = state.variables.find(inputs[i]); at != state.variables.end())
      found[i] = at->second.data_type;
  }
  return found;
}

/// Returns the constant for a variable, which is read once.
Result<ValueId> variable_value(Flattened& state, ValueId handle) {
  VariableHandle& variable = state.variables.at(handle);
  if (variable.value == no_value) {
    variable.value = state.graph.add_constant(unique_name(state, variable.node, ""),
                                              state.saved_variables.at(variable.node));
  }
  return variable.value;
}

Status emit_read(Flattened& state, NameScope& scope, const NodeDef& node, std::vector<ValueId> inputs) {
  const ValueId value = TRY(variable_value(state, inputs[0]));
  if (node.op == "ReadVariableOp") {
    scope.values[node.name + ":0"] = value;
    return {};
  }
  const Tensor& tensor = *state.graph.value(value).constant;
  if (node.op == "VariableShape") {
    Tensor shape(DType::i32, {static_cast<int64_t>(tensor.shape().size())});
    std::ranges::transform(tensor.shape(), shape.as<int32_t>().begin(),
                           [](int64_t size) { return static_cast<int32_t>(size); });
    scope.values[node.name + ":0"] =
        state.graph.add_constant(unique_name(state, node.name + ":0", scope.prefix), std::move(shape));
    return {};
  }
  NodeDef gather{node.name, "GatherV2", {}, {}, {}};
  const int64_t batch_dims = node.attributes.get_int("batch_dims", 0);
  gather.attributes.set("Tparams", encode_type(data_type_of(tensor.dtype())));
  gather.attributes.set("Tindices", encode_type(get_type(node.attributes, "Tindices")));
  gather.attributes.set("Taxis", encode_type(data_type_of(DType::i32)));
  gather.attributes.set("batch_dims", batch_dims);
  Tensor axis(DType::i32, {});
  axis.as<int32_t>()[0] = static_cast<int32_t>(batch_dims);
  inputs[0] = value;
  inputs.push_back(
      state.graph.add_constant(unique_name(state, node.name + "/axis:0", scope.prefix), std::move(axis)));
  return add_node(state, scope, node.name, std::move(gather), std::move(inputs));
}

Status emit_node(Flattened& state, NameScope& scope, const NodeDef& node,
                 const std::vector<std::string>& references) {
  if (state.graph.nodes.size() > max_nodes)
    return fail("the model has over {} nodes after its functions are inlined", max_nodes);
  if (const FunctionDef* function = called_function(state, node))
    return inline_call(state, scope, node, *function, references);
  if (node.op == "Const") return emit_constant(state, scope, node);
  if (node.op == "Placeholder") return fail("it is not an input of the signature, but the outputs need it");
  if (is_variable(node.op)) return emit_variable(state, scope, node);
  std::vector<ValueId> inputs = TRY(values_of(state, scope, references));
  if (is_alias(node.op)) return emit_aliases(scope, node, inputs);
  const VariableInputs variables = variable_inputs(state, inputs);
  if (!variables.empty() && reads_variable(node.op)) return emit_read(state, scope, node, inputs);
  if (changes_state(node.op)) return frozen_error(node);
  NodeDef frozen = node;
  if (!variables.empty()) TRY(state.freezer.freeze_call(frozen, variables));
  for (const auto& [input, type] : variables) inputs[input] = TRY(variable_value(state, inputs[input]));
  return add_node(state, scope, node.name, std::move(frozen), std::move(inputs));
}

Status add_group(Flattened& state, NameScope& scope, const std::string& name, Composite composite,
                 std::vector<ValueId> inputs) {
  Node node;
  node.name = unique_name(state, name, scope.prefix);
  node.op = "ControlFlow";
  node.domain = "tensorflow";
  node.version = 1;
  for (ValueId& input : inputs) {
    if (state.variables.contains(input)) input = TRY(variable_value(state, input));
  }
  node.inputs = std::move(inputs);
  TRY(set_composite(node.attributes, composite));
  for (const std::string& output : composite.outputs) {
    const ValueId value = state.graph.add_value(unique_name(state, output, scope.prefix));
    scope.values[output] = value;
    node.outputs.push_back(value);
  }
  state.graph.add_node(std::move(node));
  return {};
}

/// Turns loops and branches of TensorFlow 1 into one node, with control edges among its members.
Status emit_group(Flattened& state, NameScope& scope, const std::vector<size_t>& members,
                  const NeededNodes& needed) {
  std::set<std::string> inside;
  for (size_t member : members) inside.insert(scope.nodes[member].name);
  Composite composite;
  std::vector<std::string> outer;
  for (size_t member : members) {
    NodeDef node = scope.nodes[member];
    for (std::string& input : node.inputs) {
      const TensorReference from = parse_reference(input);
      if (inside.contains(from.node)) continue;
      if (from.output < 0) {
        input.clear();
        continue;
      }
      const auto at = std::ranges::find(outer, canonical_reference(input));
      input = fmt::format("@{}", at - outer.begin());
      if (at == outer.end())
        outer.push_back(canonical_reference(
            scope.nodes[member].inputs[static_cast<size_t>(&input - node.inputs.data())]));
    }
    std::erase(node.inputs, std::string());
    if (changes_state(node.op)) return frozen_error(node);
    node.attributes.erase("_class");  // the attribute would tie the node to nodes in other places
    composite.nodes.push_back(std::move(node));
  }
  for (size_t i = 0; i < needed.inputs.size(); ++i) {
    for (const std::string& input : needed.inputs[i]) {
      if (!inside.contains(scope.nodes[i].name) && inside.contains(parse_reference(input).node))
        add_once(composite.outputs, input);
    }
  }
  for (const std::string& wanted : state.wanted) {
    if (inside.contains(parse_reference(wanted).node)) add_once(composite.outputs, wanted);
  }
  return add_group(state, scope, scope.nodes[members[0]].name, std::move(composite),
                   TRY(values_of(state, scope, outer)));
}

/// Adds all nodes of the scope that the wanted tensors need.
Status flatten(Flattened& state, NameScope& scope, const std::vector<std::string>& wanted) {
  const NeededNodes needed = TRY(find_needed_nodes(scope, wanted, state.resolver));
  if (!scope.in_function) TRY(read_contents(state, scope, needed.is_needed));
  for (const NodeUnit& unit : TRY(order_nodes(scope, needed))) {
    const NodeDef& node = scope.nodes[unit.nodes[0]];
    TRY(with_context(unit.is_group ? emit_group(state, scope, unit.nodes, needed)
                                   : emit_node(state, scope, node, needed.inputs[unit.nodes[0]]),
                     "node '{}' ({})", node.name, node.op));
  }
  return {};
}

/// Checks for nodes that change state and are reachable only through control edges: they were not added, but
/// the model means them to run.
Status check_state_changes(const Flattened& state, const NameScope& scope) {
  std::set<std::string> seen;
  std::vector<std::string> open;
  for (const std::string& reference : state.wanted) open.push_back(parse_reference(reference).node);
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const auto at = scope.by_name.find(name);
    if (at == scope.by_name.end() || !seen.insert(name).second) continue;
    const NodeDef& node = scope.nodes[at->second];
    if (changes_state(node.op)) return frozen_error(node);
    for (const std::string& input : node.inputs) open.push_back(parse_reference(input).node);
  }
  return {};
}

/// Gives the value the output's name. If it is an input, a constant or already an output, adds an Identity of
/// it with that name.
Status add_output(Flattened& state, const std::string& name, ValueId id) {
  if (state.variables.contains(id)) return fail("output '{}' is a variable's handle", name);
  const bool is_boundary = state.graph.value(id).producer == no_node ||
                           std::ranges::find(state.graph.outputs, id) != state.graph.outputs.end();
  if (!is_boundary) {
    state.graph.value(id).name = name;
    state.graph.outputs.push_back(id);
    return {};
  }
  Node node{unique_name(state, name + "/identity", ""),
            "Identity",
            "tensorflow",
            1,
            {id},
            {state.graph.add_value(name)},
            {},
            {}};
  state.graph.outputs.push_back(node.outputs[0]);
  state.graph.add_node(std::move(node));
  return {};
}

}  // namespace

Result<Graph> flatten_graph(const GraphDef& graph, const std::vector<BoundaryTensor>& inputs,
                            const std::vector<BoundaryTensor>& outputs, const TensorFlowSource& source,
                            const ReadSaved& read_saved) {
  Flattened state{.read_saved = read_saved,
                  .functions = graph.functions,
                  .resolver = ReferenceResolver(graph.functions, source),
                  .freezer = FunctionFreezer(graph.functions)};
  NameScope scope{graph.nodes};
  TRY(index_nodes(scope));
  for (const BoundaryTensor& input : inputs) {
    const ValueId value = state.graph.add_value(input.name, input.type);
    state.names.insert(input.name);
    state.graph.inputs.push_back(value);
    scope.values[canonical_reference(input.tensor)] = value;
  }
  for (const BoundaryTensor& output : outputs) state.names.insert(output.name);
  for (const BoundaryTensor& output : outputs) state.wanted.push_back(canonical_reference(output.tensor));
  TRY(flatten(state, scope, state.wanted));
  TRY(check_state_changes(state, scope));
  for (size_t i = 0; i < outputs.size(); ++i)
    TRY(add_output(state, outputs[i].name, TRY(value_of(state, scope, state.wanted[i]))));
  return std::move(state.graph);
}

}  // namespace intarsia
