#include "backends/halide/schedule/kernel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "backends/halide/schedule/coalesce.h"
#include "backends/halide/schedule/index_checks.h"
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
    if (kernel.form == Form::contraction) kernel.details = ContractionDetails{constant_weights(), {}, {}};
    if (kernel.form == Form::movement || kernel.form == Form::scatter || kernel.form == Form::routine)
      call_.checks = index_checks(kernel, constants());
    if (group_.attention) kernel.details = AttentionDetails{in_body(*group_.attention), {}};
    return std::move(call_);
  }

 private:
  Argument argument(ValueId id) const {
    return {graph_.value(id).type.dtype, sizes_of(graph_, id), layouts_.storage[index(id)].strides};
  }

  /// Returns the nodes as the body numbers them: it has the group's nodes in their order.
  AttentionNodes in_body(const AttentionNodes& attention) const {
    std::vector<NodeId> nodes = attention.all();
    for (NodeId& node : nodes) node = NodeId(std::ranges::find(group_.nodes, node) - group_.nodes.begin());
    return AttentionNodes::from_all(nodes);
  }

  void add_node(const Node& node) {
    Graph& body = call_.kernel.body;
    Form form = form_of(node);
    Node copy = make_node(fmt::format("n{}", body.nodes.size()), op_of(node), {}, {}, read_attributes(node));
    bool anchor = form != Form::elementwise && form != Form::reduction;
    for (ValueId input : node.inputs) copy.inputs.push_back(use(input, anchor));
    for (ValueId output : node.outputs) {
      ValueId made = body.add_value(fmt::format("t{}", body.values.size()), graph_.value(output).type);
      local_[output] = made;
      copy.outputs.push_back(made);
    }
    NodeId id = body.add_node(std::move(copy));
    if (anchor) call_.kernel.anchor = id;
  }

  /// Brings a value into the body: numbers known at compile time become part of the code, other values
  /// arguments.
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

  /// Returns the input that holds weights known at compile time, maybe transposed, which can be packed.
  std::optional<size_t> constant_weights() const {
    const Kernel& kernel = call_.kernel;
    const Node& node = kernel.body.node(kernel.anchor);
    auto at = std::ranges::find(kernel.body.inputs, node.inputs[1]);
    if (at == kernel.body.inputs.end() || node.inputs[0] == node.inputs[1]) return std::nullopt;
    auto slot = static_cast<size_t>(at - kernel.body.inputs.begin());
    if (!graph_.value(layouts_.storage[index(call_.inputs[slot])].root).constant) return std::nullopt;
    return slot;
  }

  /// Returns the tensors of the kernel's inputs; null where one is not known at compile time.
  std::vector<const Tensor*> constants() const {
    std::vector<const Tensor*> tensors;
    for (ValueId input : call_.inputs) {
      const std::optional<Tensor>& constant = graph_.value(input).constant;
      tensors.push_back(constant ? &*constant : nullptr);
    }
    return tensors;
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
  if (auto* texts = std::get_if<std::vector<std::string>>(&value))
    return fmt::format("[{}]", fmt::join(*texts, ","));
  auto* numbers = std::get_if<std::vector<int64_t>>(&value);
  INTARSIA_CHECK(numbers != nullptr);  // core operators have no other attributes
  return fmt::format("[{}]", fmt::join(*numbers, ","));
}

std::string argument_text(const Argument& argument) {
  const auto& [dtype, shape, strides] = argument;
  return fmt::format("{}{}:{}", dtype_name(dtype), print_shape(shape), print_shape(strides));
}

/// Prints the bits of a number, and the number for people.
std::string number_text(const Tensor& scalar) {
  uint64_t bits = 0;
  INTARSIA_CHECK(scalar.bytes() <= sizeof(bits));
  std::memcpy(&bits, scalar.data(), scalar.bytes());
  return fmt::format("{}({:#x} {:.9g})", dtype_name(scalar.dtype()), bits, read_scalar(scalar).value_or(0));
}

std::string value_text(const Graph& body, ValueId id) {
  const Value& value = body.value(id);
  return value.constant ? number_text(*value.constant) : fmt::format("{}", index(id));
}

const char* device_text(KernelDevice device) {
  switch (device) {
    case KernelDevice::cpu:
      return "";
    case KernelDevice::opencl:
      return ", on an OpenCL device";
    case KernelDevice::opencl_gpu:
      return ", on an OpenCL GPU";
    case KernelDevice::cuda:
      return ", on a CUDA device";
  }
  return "";
}

const char* dot_products_text(DotProducts kind) {
  switch (kind) {
    case DotProducts::none:
      return "";
    case DotProducts::neon:
      return ", dot products of NEON";
    case DotProducts::avx_vnni:
      return ", dot products of AVX-VNNI";
    case DotProducts::avx512_vnni:
      return ", dot products of AVX-512 VNNI";
    case DotProducts::sapphire_rapids:
      return ", dot products of Sapphire Rapids";
    case DotProducts::zen4:
      return ", dot products of Zen 4";
    case DotProducts::amx:
      return ", dot products of Sapphire Rapids, AMX";
  }
  return "";
}

std::string isa_text(const Isa& isa) {
  const auto& [level, vector_bytes, registers, device, group_items, l2_bytes, dots] = isa;
  return fmt::format(
      "{} with {} vectors of {} bytes{}{}{}{}", level, registers, vector_bytes, device_text(device),
      group_items == 1 ? "" : fmt::format(" in groups of {}", group_items),
      l2_bytes == typical_l2_bytes ? "" : fmt::format(", {} bytes of L2", l2_bytes), dot_products_text(dots));
}

std::string place_text(const std::optional<size_t>& input) {
  return input ? fmt::format("{}", *input) : "none";
}

struct DetailsText {
  std::string operator()(const std::monostate&) const { return ""; }
  std::string operator()(const ContractionDetails& details) const {
    const auto& [weights, schedule, packing] = details;
    const auto& [panel, panels, dot] = packing;
    return fmt::format("schedule {}, weights {} in {} panels of {}{}\n", print_schedule(schedule),
                       place_text(weights), panels, panel, dot == 1 ? "" : fmt::format(" by {}", dot));
  }
  std::string operator()(const RecurrenceDetails& details) const {
    const auto& [tile] = details;
    return fmt::format("schedule {}\n", print_tile(tile));
  }
  std::string operator()(const AttentionDetails& details) const {
    const auto& [nodes, schedule] = details;
    std::vector<uint32_t> numbers;
    for (NodeId node : nodes.all()) numbers.push_back(static_cast<uint32_t>(node));
    return fmt::format("schedule {}, of nodes {}\n", print_schedule(schedule), fmt::join(numbers, " "));
  }
};

std::string node_text(const Graph& body, const Node& node) {
  std::string text;
  for (ValueId output : node.outputs)
    text += fmt::format("{} {} ", index(output), print_type(body.value(output).type));
  text += "= " + node.op;
  for (ValueId input : node.inputs) text += " " + value_text(body, input);
  for (const auto& [name, value] : node.attributes)
    text += fmt::format(" {}={}", name, attribute_text(value));
  return text + "\n";
}

}  // namespace

std::optional<size_t> Kernel::weights() const {
  const auto* of = std::get_if<ContractionDetails>(&details);
  return of ? of->weights : std::nullopt;
}

/// Bindings here and in the functions called break with a new field: it belongs in the text.
std::string Kernel::text() const {
  const auto& [form, isa, body, anchor, inputs, output, in_place, threads, details, symbols] = *this;
  std::string text = fmt::format("form {} threads {} {}\n", name_of(form), threads, isa_text(isa));
  if (!symbols.empty()) text += fmt::format("open sizes {}\n", fmt::join(symbols, ", "));
  text += std::visit(DetailsText(), details);
  if (in_place) text += fmt::format("in place of {}\n", *in_place);
  for (size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("in {} {} {}\n", index(body.inputs[i]), print_type(body.value(body.inputs[i]).type),
                        argument_text(inputs[i]));
  for (const Node& node : body.nodes) text += node_text(body, node);
  if (anchor != no_node) text += fmt::format("anchor {}\n", index(anchor));
  return text + fmt::format("out {} {}\n", index(body.outputs[0]), argument_text(output));
}

std::string print_calls(const Layouts& layouts, const std::vector<Call>& calls) {
  std::string text;
  for (const Call& call : calls) {
    text += fmt::format("%{} ({}) = kernel of", layouts.graph.value(call.output).name, call.source);
    for (ValueId input : call.inputs) text += fmt::format(" %{}", layouts.graph.value(input).name);
    text += call.times == 1 ? "\n" : fmt::format(", {} times\n", call.times.print());
    text += call.kernel.text() + "\n";
  }
  return text;
}

void Kernel::replace_sizes(const std::function<Dim(const Dim&)>& replace) {
  const auto replace_all = [&](SymbolicShape& sizes) {
    for (Dim& size : sizes) size = replace(size);
  };
  for (Argument& input : inputs) replace_all(input.shape), replace_all(input.strides);
  replace_all(output.shape), replace_all(output.strides);
  for (Value& value : body.values)
    if (!value.constant) replace_all(*value.type.shape);
  for (Node& node : body.nodes) halide::replace_sizes(node, replace);
}

Kernel Kernel::with_typical_sizes() const {
  Kernel kernel = *this;
  std::map<std::string, Dim> numbers;
  for (size_t i = 0; i < symbols.size(); ++i) numbers[symbol_name(i)] = symbols[i];
  kernel.symbols.clear();
  kernel.replace_sizes([&](const Dim& size) {
    return size.is_number() ? size : Dim(std::max<int64_t>(evaluate(size, numbers), 1));
  });
  return kernel;
}

namespace {

/// Numbers the open sizes of a kernel, so that kernels of equal sizes are equal whatever names the region
/// has.
void name_symbols(Call& call, const TypicalSizes& typical) {
  std::map<std::string, Dim> names;
  call.kernel.replace_sizes([&](const Dim& size) {
    for (const std::string& symbol : size.symbols())
      if (names.try_emplace(symbol, Dim::named(symbol_name(call.symbols.size()))).second)
        call.symbols.push_back(symbol);
    return size.substitute(names);
  });
  for (const std::string& symbol : call.symbols) {
    const auto known = typical.find(symbol);
    call.kernel.symbols.push_back(known == typical.end() ? typical_size : known->second);
  }
}

}  // namespace

DotProducts dot_products_of(const Kernel& kernel) {
  const auto* attention = std::get_if<AttentionDetails>(&kernel.details);
  if (attention != nullptr && attention->schedule.on_amx) return DotProducts::amx;
  const auto* contraction = std::get_if<ContractionDetails>(&kernel.details);
  if (contraction == nullptr) return DotProducts::none;
  if (contraction->schedule.on_amx) return DotProducts::amx;
  const bool is_bf16 = contraction->weights && kernel.inputs[*contraction->weights].dtype == DType::bf16;
  if (contraction->packing.dot <= (is_bf16 ? 1 : 2)) return DotProducts::none;
  return kernel.isa.has_amx() ? DotProducts::sapphire_rapids : kernel.isa.dot_products;
}

std::vector<Call> make_kernels(const Layouts& layouts, const std::vector<Group>& groups, const Isa& isa,
                               int threads, const TypicalSizes& typical) {
  std::vector<Call> calls;
  for (const Group& group : groups) {
    const size_t first = calls.size();
    if (group.form == Form::recurrence)
      std::ranges::move(make_recurrence(layouts, layouts.graph.node(group.nodes[0]), threads),
                        std::back_inserter(calls));
    else
      calls.push_back(Maker(layouts, group).make(threads));
    for (Call& call : std::span(calls).subspan(first)) call.nodes = group.nodes;
  }
  for (Call& call : calls) {
    call.kernel.isa = isa;
    name_symbols(call, typical);
  }
  return calls;
}

}  // namespace intarsia::halide
