#include "backends/halide/schedule/kernel.h"

#include <algorithm>
#include <map>

#include "backends/halide/schedule/coalesce.h"
#include "backends/halide/schedule/recurrence.h"

namespace intarsia::halide {
namespace {

class Maker {
 public:
  Maker(const Layouts& layouts, const Group& group)
      : layouts_(layouts), graph_(layouts.graph), group_(group) {}

  Call make(int threads) {
    Kernel& kernel = call_.kernel;
    kernel.form = group_.form;
    kernel.threads = threads;
    for (NodeId id : group_.nodes) add_node(graph_.node(id));
    const size_t named = kernel.anchor == no_node ? 0 : static_cast<size_t>(index(kernel.anchor));
    call_.source = graph_.node(group_.nodes[named]).name;
    call_.output = group_.output;
    kernel.body.outputs = {local_.at(group_.output)};
    kernel.output = argument(group_.output);
    coalesce(kernel);
    if (kernel.form == Form::contraction) kernel.weights = constant_weights();
    return std::move(call_);
  }

 private:
  Argument argument(ValueId id) const {
    return {graph_.value(id).type.dtype, shape_of(graph_, id), layouts_.storage[index(id)].strides};
  }

  void add_node(const Node& node) {
    Graph& body = call_.kernel.body;
    Form form = form_of(node);
    Node copy = make_node(fmt::format("n{}", body.nodes.size()), op_of(node), {}, {}, read_attributes(node));
    bool anchor = form != Form::elementwise && form != Form::rows;
    for (ValueId input : node.inputs) copy.inputs.push_back(use(input, anchor));
    for (ValueId output : node.outputs) {
      ValueId made = body.add_value(fmt::format("t{}", body.values.size()), graph_.value(output).type);
      local_[output] = made;
      copy.outputs.push_back(made);
    }
    NodeId id = body.add_node(std::move(copy));
    if (anchor) call_.kernel.anchor = id;
  }

  /// Numbers known now become part of the code, everything else an argument.
  ValueId use(ValueId id, bool anchor) {
    if (auto at = local_.find(id); at != local_.end()) return at->second;
    Graph& body = call_.kernel.body;
    const Value& value = graph_.value(id);
    ValueId made;
    if (value.constant && !anchor && element_count(value.constant->shape()) == 1) {
      made = body.add_constant(fmt::format("c{}", body.values.size()), *value.constant);
      call_.numbers.emplace_back(made, id);
    } else {
      made = body.add_value(fmt::format("v{}", body.values.size()), value.type);
      body.inputs.push_back(made);
      call_.kernel.inputs.push_back(argument(id));
      call_.inputs.push_back(id);
    }
    return local_[id] = made;
  }

  /// The input that holds weights known now, which can be packed.
  std::optional<size_t> constant_weights() const {
    const Kernel& kernel = call_.kernel;
    const Node& node = kernel.body.node(kernel.anchor);
    auto at = std::ranges::find(kernel.body.inputs, node.inputs[1]);
    if (at == kernel.body.inputs.end() || node.inputs[0] == node.inputs[1]) return std::nullopt;
    auto slot = static_cast<size_t>(at - kernel.body.inputs.begin());
    if (!graph_.value(call_.inputs[slot]).constant) return std::nullopt;
    const Shape weights = shape_of(kernel.body, *at);
    const bool one_matrix = element_count(weights) == weights[weights.size() - 2] * weights.back();
    return op_of(node) != CoreOp::matmul || one_matrix ? std::optional(slot) : std::nullopt;
  }

  const Layouts& layouts_;
  const Graph& graph_;
  const Group& group_;
  Call call_;
  std::map<ValueId, ValueId> local_;
};

std::string attribute_text(const AttributeValue& value) {
  if (auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
  if (auto* number = std::get_if<float>(&value)) return fmt::format("{}", *number);
  if (auto* text = std::get_if<std::string>(&value)) return *text;
  if (auto* numbers = std::get_if<std::vector<int64_t>>(&value))
    return fmt::format("[{}]", fmt::join(*numbers, ","));
  if (auto* numbers = std::get_if<std::vector<float>>(&value))
    return fmt::format("[{}]", fmt::join(*numbers, ","));
  return "?";
}

std::string argument_text(const Argument& argument) {
  return fmt::format("{}[{}]:[{}]", dtype_name(argument.dtype), fmt::join(argument.shape, ","),
                     fmt::join(argument.strides, ","));
}

std::string value_text(const Graph& body, ValueId id) {
  const Value& value = body.value(id);
  if (!value.constant) return fmt::format("{}", index(id));
  // Whole numbers of 64 bits do not survive a double.
  if (value.type.dtype == DType::i64 || value.type.dtype == DType::u64)
    return fmt::format("{}({:#x})", dtype_name(value.type.dtype),
                       *static_cast<const uint64_t*>(value.constant->data()));
  return fmt::format("{}({:.17g})", dtype_name(value.type.dtype), read_scalar(*value.constant).value_or(0));
}

}  // namespace

std::string Kernel::text() const {
  std::string text = fmt::format("form {} threads {} {}\n", static_cast<int>(form), threads, isa.level);
  if (form == Form::recurrence) text += fmt::format("schedule {}\n", print_schedule(schedule));
  if (form == Form::contraction)
    text +=
        fmt::format("schedule {} panels {}x{}\n", print_schedule(schedule), packing.panels, packing.panel);
  if (form == Form::attention) text += fmt::format("schedule {}\n", print_schedule(attention));
  if (in_place) text += fmt::format("in place of {}\n", index(body.inputs[*in_place]));
  for (size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("in {} {}\n", index(body.inputs[i]), argument_text(inputs[i]));
  for (const Node& node : body.nodes) {
    text += fmt::format("{} {} =", index(node.outputs[0]), print_type(body.value(node.outputs[0]).type)) +
            node.op;
    for (ValueId input : node.inputs) text += " " + value_text(body, input);
    for (const auto& [name, value] : node.attributes)
      text += fmt::format(" {}={}", name, attribute_text(value));
    text += "\n";
  }
  return text + fmt::format("out {} {}\n", index(body.outputs[0]), argument_text(output));
}

std::vector<Call> make_kernels(const Layouts& layouts, const std::vector<Group>& groups, const Isa& isa,
                               int threads) {
  std::vector<Call> calls;
  for (const Group& group : groups) {
    if (group.form == Form::recurrence)
      std::ranges::move(make_recurrence(layouts, layouts.graph.node(group.nodes[0]), threads),
                        std::back_inserter(calls));
    else
      calls.push_back(Maker(layouts, group).make(threads));
  }
  for (Call& call : calls) call.kernel.isa = isa;
  return calls;
}

}  // namespace intarsia::halide
