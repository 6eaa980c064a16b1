#include "backends/halide/canonicalize/rewriter.h"

#include <algorithm>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/canonicalize/quantized_constants.h"
#include "backends/halide/canonicalize/told_sizes.h"
#include "backends/halide/core/core_ops.h"
#include "backends/halide/core/half_floats.h"
#include "backends/halide/core/permute_tensor.h"
#include "graph/element_rules.h"
#include "graph/shape_rules.h"

namespace intarsia::halide {
namespace {

constexpr int64_t max_widened_elements = 1 << 16;

template <typename T>
std::vector<int64_t> to_ints(const Tensor& tensor) {
  auto numbers = tensor.as<T>();
  return {numbers.begin(), numbers.end()};
}

template <typename T>
void fill(const Tensor& tensor, double number) {
  *static_cast<T*>(tensor.data()) = static_cast<T>(number);
}

}  // namespace

Rewriter::Rewriter(const Graph& source)
    : source_(source), mapped_(source.values.size(), no_value), told_(told_sizes(source)) {
  graph_.name = source.name;
  graph_.opsets = {{"", 0}};  // core operators have no versions
  for (ValueId input : source.inputs) {
    mapped_[index(input)] = graph_.add_value(source.value(input).name, source.value(input).type);
    graph_.inputs.push_back(mapped_[index(input)]);
  }
}

const Tensor* Rewriter::constant(ValueId value) const {
  const auto& constant = graph_.value(value).constant;
  return constant ? &*constant : nullptr;
}

ValueId Rewriter::in(size_t i) const {
  const auto wide = widened_.find(stored_in(i));
  return wide == widened_.end() ? stored_in(i) : wide->second;
}

const QuantizedValue* Rewriter::quantized_in(size_t i) {
  const auto at = quantized_.find(node_->inputs[i]);
  return at == quantized_.end() ? nullptr : &at->second;
}

ValueId Rewriter::unsigned_in(size_t i) {
  if (dtype(stored_in(i)) == DType::u8) return stored_in(i);
  const auto [at, is_new] = unsigned_.try_emplace(node_->inputs[i], no_value);
  if (const Tensor* tensor = constant(stored_in(i)); is_new && tensor != nullptr) {
    at->second = add_constant(with_other_sign(*tensor, DType::u8));
  } else if (is_new) {
    const ValueId bits = emit(CoreOp::cast, {stored_in(i)}, DType::u8, sizes(stored_in(i)));
    at->second = emit_elementwise(CoreOp::bitwise_xor, {bits, add_scalar(128, DType::u8)});
  }
  return at->second;
}

ValueId Rewriter::as_signed(ValueId integers) {
  const ValueId bits = emit_elementwise(CoreOp::bitwise_xor, {integers, add_scalar(128, DType::u8)});
  return emit(CoreOp::cast, {bits}, DType::i8, sizes(bits));
}

ValueId Rewriter::dequantized(const QuantizedValue& value) {
  if (value.has_few_bits) {
    const Tensor* zero = value.zero == no_value ? nullptr : constant(value.zero);
    const ValueId numbers = add_constant(
        dequantize_blocks(*constant(value.integers), *constant(value.scale), zero, value.axis, value.block));
    return value.is_swapped ? transpose(numbers, {1, 0}) : numbers;
  }
  const auto aligned = [&](ValueId constant) {
    SymbolicShape shape = sizes(constant);
    if (element_count(this->constant(constant)->shape()) == 1) shape.clear();
    if (!shape.empty()) shape.resize(static_cast<size_t>(rank(value.integers) - value.axis), 1);
    return reshape(constant, shape);
  };
  const ValueId scale = aligned(value.scale), zero = aligned(value.zero);
  if (const Tensor* integers = constant(value.integers))
    return add_constant(dequantize(*integers, *constant(scale), *constant(zero)));
  return emit(CoreOp::dequantize, {value.integers, scale, zero}, DType::f32, sizes(value.integers));
}

void Rewriter::dequantize_input(size_t i) {
  if (const QuantizedValue* value = has_input(i) ? quantized_in(i) : nullptr)
    mapped_[index(node_->inputs[i])] = dequantized(*value);
}

void Rewriter::dequantize_inputs() {
  for (size_t i = 0; i < node_->inputs.size(); ++i) dequantize_input(i);
}

void Rewriter::widen_inputs() {
  widened_.clear();
  if (numbers_ == Numbers::moved) return;
  for (size_t i = 0; i < node_->inputs.size(); ++i)
    if (has_input(i) && is_half_float(dtype(stored_in(i))) && !widened_.contains(stored_in(i)))
      widened_[stored_in(i)] = widened(stored_in(i));
}

ValueId Rewriter::widened(ValueId half) {
  const Tensor* tensor = constant(half);
  // What is small may be a parameter, which rules read; what is large stays small in the program.
  const bool is_small = tensor != nullptr && element_count(tensor->shape()) <= max_widened_elements;
  if (tensor == nullptr || (!is_small && numbers_ != Numbers::prepared)) return converted(half, DType::f32);
  Tensor wide(DType::f32, tensor->shape());
  std::ranges::transform(tensor->as<uint16_t>(), wide.as<float>().begin(),
                         [&](uint16_t bits) { return read_half_float(tensor->dtype(), bits); });
  return add_constant(std::move(wide));
}

DType Rewriter::out_dtype(size_t i) const {
  if (moves_integers_) return DType::u8;
  return numbers_ == Numbers::moved ? stored_out_dtype(i) : compute_dtype(stored_out_dtype(i));
}
const SymbolicShape& Rewriter::out_sizes(size_t i) const { return sizes_of(source_, node_->outputs[i]); }

Shape Rewriter::numbers(const SymbolicShape& sizes) const {
  std::optional<Shape> shape = static_shape(sizes);
  if (shape) return *std::move(shape);
  needs_numbers_ = true;
  return Shape(sizes.size(), 1);
}

Result<std::vector<int64_t>> Rewriter::ints(std::string_view attribute, size_t input,
                                            std::vector<int64_t> otherwise) const {
  if (!attribute.empty() && attributes().has(attribute)) return attributes().get_ints(attribute, otherwise);
  if (!has_input(input)) return otherwise;
  const Tensor* tensor = constant(stored_in(input));
  if (!tensor) return fail("halide: {} with input {} not known at compile time", node_->op, input);
  if (tensor->dtype() == DType::i64) return to_ints<int64_t>(*tensor);
  if (tensor->dtype() == DType::i32) return to_ints<int32_t>(*tensor);
  return fail("halide: {} wants integers as input {}, got {}", node_->op, input, dtype_name(tensor->dtype()));
}

Result<SymbolicShape> Rewriter::size_input(std::string_view attribute, size_t input) const {
  const bool is_given = has_input(input) && !constant(stored_in(input));
  const auto elements = is_given ? source_.value(node_->inputs[input]).type.elements : std::nullopt;
  if (!elements || !std::ranges::all_of(*elements, &Dim::is_known))
    return to_symbolic(TRY(ints(attribute, input, {})));
  return *elements;
}

Result<double> Rewriter::scalar(std::string_view attribute, size_t input, double otherwise) const {
  if (const AttributeValue* value = attribute.empty() ? nullptr : attributes().find(attribute)) {
    if (auto* number = std::get_if<float>(value)) return *number;
    if (auto* number = std::get_if<int64_t>(value)) return static_cast<double>(*number);
  }
  if (!has_input(input)) return otherwise;
  const Tensor* tensor = constant(stored_in(input));
  if (!tensor) return fail("halide: {} with input {} not known at compile time", node_->op, input);
  std::optional<double> number = read_scalar(*tensor);
  if (!number) return fail("halide: {} wants a number as input {}", node_->op, input);
  return *number;
}

Result<int64_t> Rewriter::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return fail("halide: {}: axis {} of a tensor of rank {}", node_->op, axis, rank);
  return axis < 0 ? axis + rank : axis;
}

ValueId Rewriter::emit(CoreOp op, std::vector<ValueId> inputs, DType dtype, SymbolicShape sizes,
                       const CoreAttributes& attributes) {
  needs_numbers_ |= !std::ranges::all_of(sizes, &Dim::is_known) || !are_known(attributes);
  std::string name = fmt::format("t{}", names_++);
  ValueId out = graph_.add_value(name, {dtype, std::move(sizes)});
  const bool by_default =
      std::holds_alternative<NoAttributes>(attributes) && form_of(op) == Form::elementwise;
  graph_.add_node(
      make_node(node_->name, op, std::move(inputs), {out}, by_default ? default_attributes(op) : attributes));
  return out;
}

ValueId Rewriter::emit_elementwise(CoreOp op, std::vector<ValueId> inputs, const CoreAttributes& attributes) {
  SymbolicShape broadcast = sizes(inputs[0]);
  for (ValueId input : inputs) broadcast = broadcast_symbolic(broadcast, sizes(input)).value_or(broadcast);
  DType type = dtype(inputs[0]);
  return emit(op, std::move(inputs), type, std::move(broadcast), attributes);
}

ValueId Rewriter::reshape(ValueId value, const SymbolicShape& sizes) {
  if (this->sizes(value) == sizes) return value;
  const Tensor* tensor = constant(value);
  if (const std::optional<Shape> shape = static_shape(sizes); tensor != nullptr && shape)
    return add_constant(Tensor(TensorView{tensor->data(), tensor->dtype(), *shape}, tensor->owner()));
  return emit(CoreOp::reshape, {value}, dtype(value), sizes);
}

ValueId Rewriter::transpose(ValueId value, std::vector<int64_t> perm) {
  if (std::ranges::is_sorted(perm)) return value;
  const SymbolicShape from = sizes(value);
  SymbolicShape to;
  for (int64_t axis : perm) to.push_back(from[static_cast<size_t>(axis)]);
  return emit(CoreOp::transpose, {value}, dtype(value), std::move(to), TransposeAttributes{std::move(perm)});
}

ValueId Rewriter::transpose_constant(ValueId value, const std::vector<int64_t>& perm) {
  const Tensor* tensor = constant(value);
  if (tensor == nullptr || std::ranges::is_sorted(perm)) return transpose(value, perm);
  return add_constant(permuted(*tensor, perm));
}

ValueId Rewriter::add_constant(Tensor tensor) {
  return graph_.add_constant(fmt::format("k{}", names_++), std::move(tensor));
}

ValueId Rewriter::add_scalar(double number, DType dtype) {
  Tensor tensor(dtype, {});
  switch (dtype) {
    case DType::f32:
      fill<float>(tensor, number);
      break;
    case DType::f64:
      fill<double>(tensor, number);
      break;
    case DType::i64:
      fill<int64_t>(tensor, number);
      break;
    case DType::u64:
      fill<uint64_t>(tensor, number);
      break;
    case DType::i32:
      fill<int32_t>(tensor, number);
      break;
    case DType::u32:
      fill<uint32_t>(tensor, number);
      break;
    case DType::i16:
      fill<int16_t>(tensor, number);
      break;
    case DType::u16:
      fill<uint16_t>(tensor, number);
      break;
    case DType::i8:
      fill<int8_t>(tensor, number);
      break;
    case DType::u8:
    case DType::boolean:
      fill<uint8_t>(tensor, number);
      break;
    case DType::f16:
    case DType::bf16:
      tensor.as<uint16_t>()[0] = round_half_float(dtype, static_cast<float>(number));
      break;
    default:
      INTARSIA_CHECK(false);  // check_values refuses all other types
  }
  return add_constant(std::move(tensor));
}

ValueId Rewriter::converted(ValueId value, DType to) {
  return dtype(value) == to ? value : emit(CoreOp::cast, {value}, to, sizes(value));
}

ValueId Rewriter::channel_vector(ValueId vector, int64_t rank) {
  SymbolicShape sizes(static_cast<size_t>(std::max<int64_t>(rank - 1, 1)), 1);
  sizes[0] = element_count(shape(vector));
  return reshape(vector, sizes);
}

Status Rewriter::require_broadcast(ValueId value, const SymbolicShape& to) const {
  const SymbolicShape& from = sizes(value);
  bool fits = from.size() <= to.size();
  for (size_t i = 1; fits && i <= from.size(); ++i) {
    const Dim &own = from[from.size() - i], &wanted = to[to.size() - i];
    fits = own == 1 || provably_equal(own, wanted) || is_limited(own, wanted);
  }
  if (fits) return {};
  return fail("{}: {} does not broadcast to {}", node_->op, print_shape(from), print_shape(to));
}

Status Rewriter::require(const Dim& nonnegative, std::string why) {
  if (provably_nonnegative(nonnegative)) return {};
  needs_numbers_ |= !nonnegative.is_known();
  if (nonnegative.is_number()) return fail("{}: {}", node_->op, why);
  requirements_.push_back({nonnegative, fmt::format("{}: {}", node_->op, why)});
  return {};
}

void Rewriter::set_quantized(size_t i, const QuantizedValue& value) { quantized_[node_->outputs[i]] = value; }

void Rewriter::set_unsigned(size_t i, ValueId value) {
  const bool is_signed = source_.value(node_->outputs[i]).type.dtype == DType::i8;
  if (is_signed) {
    unsigned_[node_->outputs[i]] = value;
    value = as_signed(value);
  }
  mapped_[index(node_->outputs[i])] = value;
}

Status Rewriter::move_integers(Status (*rule)(Rewriter& rewriter)) {
  for (size_t i = 0; i < node_->inputs.size(); ++i)
    if (const QuantizedValue* value = has_input(i) ? quantized_in(i) : nullptr)
      mapped_[index(node_->inputs[i])] = value->integers;
  moves_integers_ = true;
  const Status moved = rule(*this);
  moves_integers_ = false;
  return moved;
}

void Rewriter::set_output(size_t i, ValueId value) {
  if (moves_integers_) {
    QuantizedValue moved = *quantized_in(0);
    moved.integers = value;
    return set_quantized(i, moved);
  }
  const DType stored = stored_out_dtype(i);
  if (is_half_float(stored)) value = converted(value, stored);
  mapped_[index(node_->outputs[i])] = value;
}

/// Makes every output of the region one that an operator produces in its own memory, and that is listed once:
/// an input, a constant, a view or a second name of a value is copied.
void Rewriter::close_outputs() {
  for (ValueId output : source_.outputs) {
    if (const auto quantized = quantized_.find(output); quantized != quantized_.end())
      mapped_[index(output)] = dequantized(quantized->second);
    ValueId value = mapped_[index(output)];
    NodeId producer = graph_.value(value).producer;
    bool own = producer != no_node && form_of(graph_.node(producer)) != Form::view &&
               std::ranges::find(graph_.outputs, value) == graph_.outputs.end();
    if (!own) value = emit(CoreOp::copy, {value}, dtype(value), sizes(value));
    graph_.outputs.push_back(value);
  }
}

bool Rewriter::rewrite_elements() {
  if (node_->outputs.size() != 1) return false;
  const ValueType& type = source_.value(node_->outputs[0]).type;
  const bool is_integer = type.dtype == DType::i64 || type.dtype == DType::i32;
  const auto is_told = [&](const Dim& element) {
    return element.is_known() && std::ranges::includes(told_, element.symbols());
  };
  if (!is_integer || !type.elements || !std::ranges::all_of(*type.elements, is_told)) return false;
  const std::optional<Tensor> numbers = tensor_of_elements(type);
  set_output(
      0, numbers ? add_constant(*numbers)
                 : emit(CoreOp::elements, {}, type.dtype, *type.shape, ElementsAttributes{*type.elements}));
  return true;
}

Status Rewriter::apply(Rule rule) {
  if (TRY(rewrite_on_integers(*this, rule))) return {};
  dequantize_inputs();
  widen_inputs();
  return rule(*this);
}

Result<Graph> Rewriter::rewrite(FoundRule (*find_rule)(const Node& node)) {
  for (size_t i = 0; i < source_.values.size(); ++i)
    if (source_.values[i].constant && mapped_[i] == no_value)
      mapped_[i] = graph_.add_constant(source_.values[i].name, *source_.values[i].constant);
  const bool is_open = has_open_sizes(source_);
  for (const Node& node : source_.nodes) {
    node_ = &node;
    if (is_open && rewrite_elements()) continue;
    const auto [rule, numbers] = find_rule(node);
    numbers_ = numbers;
    if (!rule) return fail("halide: no kernel for {}", node.op);
    const Status rewritten = apply(rule);
    if (needs_numbers_) return fail("halide: {} on open sizes is not supported", node.op);
    TRY(rewritten);
  }
  close_outputs();
  return std::move(graph_);
}

}  // namespace intarsia::halide
