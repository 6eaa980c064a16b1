#include "import/freeze_function.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/protobuf.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"

namespace intarsia {
namespace {

using namespace tensorflow;

/// Returns the source of a reference: "node:output:0" -> "node"; an argument is its own source.
std::string source_of(const std::string& reference) { return reference.substr(0, reference.find(':')); }

/// Attributes that name the functions a node calls, the list of their argument types, and the input that is
/// their first argument.
struct Call {
  std::vector<const char*> functions;
  const char* types;
  size_t first;
};

std::optional<Call> find_call(const std::string& op) {
  if (op == "While" || op == "StatelessWhile") return Call{{"cond", "body"}, "T", 0};
  if (op == "If" || op == "StatelessIf") return Call{{"then_branch", "else_branch"}, "Tin", 1};
  if (op == "PartitionedCall" || op == "StatefulPartitionedCall") return Call{{"f"}, "Tin", 0};
  return std::nullopt;
}

/// Rewriter of one function whose arguments were variables.
class BodyFreezer {
 public:
  BodyFreezer(FunctionFreezer& freezer, FunctionDef function)
      : freezer_(freezer), function_(std::move(function)) {}

  Result<FunctionDef> freeze(const VariableInputs& arguments) {
    for (const auto& [argument, type] : arguments) {
      if (argument >= function_.signature.inputs.size()) return fail("it has no argument {}", argument);
      function_.signature.inputs[argument].type = type;
      variables_[function_.signature.inputs[argument].name] = type;
    }
    spread_through_identities();
    for (size_t i = 0; i < function_.nodes.size(); ++i) TRY(freeze_node(i));
    for (ArgDef& result : function_.signature.outputs) {
      const auto from = variables_.find(source_of(function_.returns[result.name]));
      if (from != variables_.end()) result.type = from->second;
    }
    function_.bytes = {};
    return std::move(function_);
  }

 private:
  /// Follows handles through Identity nodes, which need not be in order.
  void spread_through_identities() {
    for (bool changed = true; changed;) {
      changed = false;
      for (NodeDef& node : function_.nodes) {
        if (node.op != "Identity" || node.inputs.empty() || variables_.contains(node.name)) continue;
        const auto from = variables_.find(source_of(node.inputs[0]));
        if (from == variables_.end()) continue;
        variables_[node.name] = from->second;
        node.attributes.set("T", encode_type(from->second));
        changed = true;
      }
    }
  }

  VariableInputs variable_inputs(const NodeDef& node) const {
    VariableInputs inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto from = variables_.find(source_of(node.inputs[i]));
      if (from != variables_.end()) inputs[i] = from->second;
    }
    return inputs;
  }

  Status freeze_node(size_t at) {
    NodeDef& node = function_.nodes[at];
    if (changes_state(node.op)) return frozen_error(node);
    const VariableInputs inputs = variable_inputs(node);
    if (inputs.empty() || node.op == "Identity") return {};
    if (node.op == "ReadVariableOp") {
      rename_output(node.name, "value", "output");
      node.op = "Identity";
      node.attributes = {};
      node.attributes.set("T", encode_type(inputs.begin()->second));
      return {};
    }
    if (node.op == "ResourceGather") {
      function_.nodes.push_back(gather(node, inputs.begin()->second));
      return {};
    }
    return with_context(freezer_.freeze_call(node, inputs), "node '{}' ({})", node.name, node.op);
  }

  void rename_output(const std::string& node, const std::string& from, const std::string& to) {
    const std::string old = node + ":" + from + ":0", renamed = node + ":" + to + ":0";
    for (NodeDef& reader : function_.nodes) std::ranges::replace(reader.inputs, old, renamed);
    for (auto& [name, reference] : function_.returns) {
      if (reference == old) reference = renamed;
    }
  }

  /// Turns the node into a GatherV2 of the value; returns the constant for its axis.
  static NodeDef gather(NodeDef& node, int32_t type) {
    const int64_t batch_dims = node.attributes.get_int("batch_dims", 0);
    const int32_t i32 = data_type_of(DType::i32);
    Attributes attributes;
    attributes.set("Tparams", encode_type(type));
    attributes.set("Tindices", encode_type(get_type(node.attributes, "Tindices")));
    attributes.set("Taxis", encode_type(i32));
    attributes.set("batch_dims", batch_dims);
    NodeDef axis{node.name + "/axis", "Const", {}, {}, {}};
    Tensor value(DType::i32, {});
    value.as<int32_t>()[0] = static_cast<int32_t>(batch_dims);
    axis.attributes.set("dtype", encode_type(i32));
    axis.attributes.set("value", std::move(value));
    node.op = "GatherV2";
    node.attributes = std::move(attributes);
    node.inputs.insert(node.inputs.begin() + 2, axis.name + ":output:0");
    return axis;
  }

  FunctionFreezer& freezer_;
  FunctionDef function_;
  std::map<std::string, int32_t> variables_;  // tensors that were handles -> types of the values
};

}  // namespace

bool changes_state(const std::string& op) {
  constexpr std::array starts{"Assign",
                              "ResourceApply",
                              "ResourceSparseApply",
                              "ResourceScatter",
                              "ResourceStridedSliceAssign",
                              "ScatterUpdate",
                              "LookupTableInsert",
                              "LookupTableRemove",
                              "LookupTableImport"};
  return std::ranges::any_of(starts, [&](const char* start) { return op.starts_with(start); });
}

tl::unexpected<Error> frozen_error(const NodeDef& node) {
  return fail(
      "node '{}' ({}) changes a variable or table when the model runs, but a program is frozen: variables "
      "and tables keep their saved contents. Export a signature that changes none",
      node.name, node.op);
}

const FunctionDef* FunctionFreezer::find(const std::string& name) const {
  for (const auto* functions : {&frozen_, &functions_}) {
    if (auto at = functions->find(name); at != functions->end()) return &at->second;
  }
  return nullptr;
}

Result<std::string> FunctionFreezer::freeze(const std::string& name, const VariableInputs& arguments) {
  const FunctionDef* function = find(name);
  if (function == nullptr) return fail("calls the function '{}', which the model lacks", name);
  if (depth_ >= deepest_call) return fail("functions call each other more than {} deep", deepest_call);
  ++depth_;
  Result<FunctionDef> frozen =
      with_context(BodyFreezer(*this, *function).freeze(arguments), "function '{}'", name);
  --depth_;
  if (!frozen) return tl::unexpected(frozen.error());
  const std::string new_name = fmt::format("{}_frozen{}", name, frozen_.size());
  frozen->signature.name = new_name;
  frozen_[new_name] = std::move(*frozen);
  return new_name;
}

Status FunctionFreezer::freeze_call(NodeDef& node, const VariableInputs& inputs) {
  const std::optional<Call> call = find_call(node.op);
  if (!call)
    return fail(
        "it reads the handle of a variable, which a program does not have: variables are frozen to their "
        "saved values");
  VariableInputs arguments;
  std::vector<int32_t> types = get_types(node.attributes, call->types);
  for (const auto& [input, type] : inputs) {
    if (input < call->first || input - call->first >= types.size())
      return fail("input {} is a variable's handle", input);
    arguments[input - call->first] = type;
    types[input - call->first] = type;
  }
  node.attributes.set(call->types, encode_types(types));
  for (const char* attribute : call->functions) {
    const AttributeValue* value = node.attributes.find(attribute);
    const std::vector<std::string> names = value ? get_functions(*value) : std::vector<std::string>();
    if (names.size() != 1) return fail("attribute '{}' does not name a function", attribute);
    node.attributes.set(attribute, encode_function(TRY(freeze(names[0], arguments))));
  }
  return {};
}

Result<std::string> FunctionFreezer::write_library(const NodeDef& node) const {
  std::vector<std::string> open;
  const auto add_called = [&](const NodeDef& caller) {
    for (const Attributes::Entry& entry : caller.attributes)
      std::ranges::move(get_functions(entry.value), std::back_inserter(open));
    if (functions_.contains(caller.op)) open.push_back(caller.op);
  };
  add_called(node);
  std::set<std::string> seen;
  std::string library;
  protozero::pbf_writer out(library);
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (!seen.insert(name).second) continue;
    const FunctionDef* function = find(name);
    if (function == nullptr) return fail("calls the function '{}', which the model lacks", name);
    const std::string bytes =
        function->bytes.empty() ? TRY(write_function(*function)) : std::string(function->bytes);
    out.add_message(function_library::function, bytes);
    for (const NodeDef& inner : function->nodes) {
      if (changes_state(inner.op)) return frozen_error(inner);
      add_called(inner);
    }
  }
  return library;
}

}  // namespace intarsia
