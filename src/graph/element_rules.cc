#include "graph/element_rules.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>

#include "graph/shape_rules.h"

namespace intarsia {
namespace {

using Elements = std::vector<Dim>;
using OptionalElements = std::optional<Elements>;

/// Returns 1 or 0 if a >= b is known to hold or not to hold, for all values of the symbols.
Dim at_least(const Dim& a, const Dim& b) {
  if (provably_nonnegative(a - b)) return 1;
  return provably_nonnegative(b - a - 1) ? Dim(0) : Dim::unknown();
}

Dim is_equal(const Dim& a, const Dim& b) {
  if (provably_equal(a, b)) return 1;
  return at_least(a, b) == 0 || at_least(b, a) == 0 ? Dim(0) : Dim::unknown();
}

Dim add(const Dim& a, const Dim& b) { return a + b; }
Dim subtract(const Dim& a, const Dim& b) { return a - b; }
Dim multiply(const Dim& a, const Dim& b) { return a * b; }

/// Divides toward zero, as ONNX does; sizes are rounded down, which is the same from 0.
Dim divide(const Dim& a, const Dim& b) {
  if (a.is_number() && b.is_number()) {
    const bool overflows = a == std::numeric_limits<int64_t>::min() && b == -1;
    return b == 0 || overflows ? Dim::unknown() : Dim(a.number() / b.number());
  }
  return provably_nonnegative(a) && provably_nonnegative(b) ? floor_div(a, b) : Dim::unknown();
}

/// Returns the rest with the divisor's sign.
Dim modulo(const Dim& a, const Dim& b) {
  return provably_nonnegative(b) && b != 0 ? a - b * floor_div(a, b) : Dim::unknown();
}

Dim both(const Dim& a, const Dim& b) {
  if (a == 0 || b == 0) return 0;
  return a == 1 && b == 1 ? Dim(1) : Dim::unknown();
}

Dim either(const Dim& a, const Dim& b) {
  if (a == 1 || b == 1) return 1;
  return a == 0 && b == 0 ? Dim(0) : Dim::unknown();
}

using Binary = Dim (*)(const Dim&, const Dim&);

/// Combines element by element; a single element stands for as many as the other has.
OptionalElements combine(const OptionalElements& a, const OptionalElements& b, Binary function) {
  if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1)) return std::nullopt;
  const auto at = [](const Elements& list, size_t i) { return list[list.size() == 1 ? 0 : i]; };
  Elements result(a->size() == 1 ? b->size() : a->size());
  for (size_t i = 0; i < result.size(); ++i) result[i] = function(at(*a, i), at(*b, i));
  return result;
}

template <Binary function>
OptionalElements elementwise(const ShapeContext& context) {
  OptionalElements result = context.elements(0);
  for (size_t i = 1; i < context.input_count(); ++i) result = combine(result, context.elements(i), function);
  return result;
}

template <Binary function>
OptionalElements reduced(const ShapeContext& context) {
  const OptionalElements x = context.elements(0);
  if (!x || x->empty()) return std::nullopt;
  return Elements{std::accumulate(x->begin() + 1, x->end(), x->front(), function)};
}

OptionalElements handed_on(const ShapeContext& context) { return context.elements(0); }

OptionalElements modulo_rule(const ShapeContext& context) {
  return context.attributes().get_int("fmod", 0) == 0 ? elementwise<modulo>(context) : std::nullopt;
}

OptionalElements negated(const ShapeContext& context) {
  return combine(Elements{0}, context.elements(0), subtract);
}

OptionalElements inverted(const ShapeContext& context) {
  return combine(context.elements(0), Elements{0}, is_equal);
}

OptionalElements sizes_of_input(const ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return std::nullopt;
  const AxisRange axes = axes_of_shape(context, x->size());
  return Elements(x->begin() + static_cast<ptrdiff_t>(axes.first),
                  x->begin() + static_cast<ptrdiff_t>(axes.last));
}

OptionalElements count_of_input(const ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  return x == nullptr ? std::nullopt : OptionalElements({product_of_dims(*x, 0, x->size())});
}

OptionalElements gathered(const ShapeContext& context) {
  const OptionalElements x = context.elements(0);
  const auto indices = context.known_ints(1);
  if (!x || !indices) return std::nullopt;
  const auto size = static_cast<int64_t>(x->size());
  Elements result;
  for (int64_t at : *indices) {
    if (at < -size || at >= size) return std::nullopt;
    result.push_back((*x)[static_cast<size_t>(at < 0 ? at + size : at)]);
  }
  return result;
}

OptionalElements sliced(const ShapeContext& context) {
  const OptionalElements x = context.elements(0);
  const auto start = ints_argument(context, "starts", 1).values,
             end = ints_argument(context, "ends", 2).values;
  const IntsArgument steps = ints_argument(context, "steps", 4);
  if (!x || !start || !end || start->size() != 1 || end->size() != 1) return std::nullopt;
  if (steps.given && (!steps.values || steps.values->size() != 1)) return std::nullopt;
  const int64_t step = steps.given ? steps.values->front() : 1;
  const auto size = static_cast<int64_t>(x->size());
  if (step == 0 || step < -size) return std::nullopt;
  // As in numpy, positions count from the end if negative, and are moved to the nearest end.
  // A start before the list is its first element, whichever way the slice goes.
  const auto position = [&](int64_t at, int64_t least) {
    return std::min(std::max(at < 0 ? at + size : at, least), step > 0 ? size : size - 1);
  };
  Elements result;
  const int64_t last = position(end->front(), step > 0 ? 0 : -1);
  for (int64_t at = position(start->front(), 0); step > 0 ? at < last : at > last;
       at += std::min(step, size + 1))
    result.push_back((*x)[static_cast<size_t>(at)]);
  return result;
}

OptionalElements joined(const ShapeContext& context) {
  Elements result;
  for (size_t i = 0; i < context.input_count(); ++i) {
    const OptionalElements part = context.elements(i);
    if (!part) return std::nullopt;
    result.insert(result.end(), part->begin(), part->end());
  }
  return result;
}

OptionalElements chosen(const ShapeContext& context) {
  const OptionalElements condition = context.elements(0);
  const OptionalElements x = context.elements(1), y = context.elements(2);
  const OptionalElements if_true = combine(condition, x, [](const Dim&, const Dim& b) { return b; });
  const OptionalElements if_false = combine(condition, y, [](const Dim&, const Dim& b) { return b; });
  if (!if_true || !if_false || if_true->size() != if_false->size()) return std::nullopt;
  Elements result(if_true->size());
  for (size_t i = 0; i < result.size(); ++i) {
    const Dim& which = (*condition)[condition->size() == 1 ? 0 : i];
    const bool same = provably_equal((*if_true)[i], (*if_false)[i]);
    if (which == 1 || same) result[i] = (*if_true)[i];
    if (which == 0) result[i] = (*if_false)[i];
  }
  return result;
}

OptionalElements counted(const ShapeContext& context) {
  const OptionalElements start = context.elements(0), delta = context.elements(2);
  const SymbolicShape* made = context.output_shape(0);
  if (!start || !delta || made == nullptr || !made->front().is_number()) return std::nullopt;
  const int64_t count = made->front().number();
  if (count > most_elements) return std::nullopt;
  Elements result;
  for (int64_t i = 0; i < count; ++i) result.push_back(start->front() + i * delta->front());
  return result;
}

/// Repeats a single element as often as the output's shape asks.
OptionalElements repeated(const ShapeContext& context) {
  const OptionalElements x = context.elements(0);
  const SymbolicShape* made = context.output_shape(0);
  if (!x || made == nullptr || made->size() > 1) return std::nullopt;
  const Dim count = product_of_dims(*made, 0, made->size());
  if (!count.is_number() || count.number() > most_elements) return std::nullopt;
  return combine(x, Elements(static_cast<size_t>(count.number()), Dim(0)),
                 [](const Dim& a, const Dim&) { return a; });
}

using ElementRule = OptionalElements (*)(const ShapeContext&);

const std::map<std::string_view, ElementRule>& rules() {
  static const std::map<std::string_view, ElementRule> all{
      {"Add", elementwise<add>},
      {"And", elementwise<both>},
      {"Cast", handed_on},
      {"Concat", joined},
      {"Div", elementwise<divide>},
      {"Equal", elementwise<is_equal>},
      {"Expand", repeated},
      {"Gather", gathered},
      {"GreaterOrEqual", elementwise<at_least>},
      {"Identity", handed_on},
      {"Max", elementwise<larger_of>},
      {"Min", elementwise<smaller_of>},
      {"Mod", modulo_rule},
      {"Mul", elementwise<multiply>},
      {"Neg", negated},
      {"Not", inverted},
      {"Or", elementwise<either>},
      {"Range", counted},
      {"ReduceMax", reduced<larger_of>},
      {"ReduceMin", reduced<smaller_of>},
      {"ReduceProd", reduced<multiply>},
      {"ReduceSum", reduced<add>},
      {"Reshape", handed_on},
      {"Shape", sizes_of_input},
      {"Size", count_of_input},
      {"Slice", sliced},
      {"Squeeze", handed_on},
      {"Sub", elementwise<subtract>},
      {"Unsqueeze", handed_on},
      {"Where", chosen},
  };
  return all;
}

bool can_be_sizes(DType dtype) {
  return dtype == DType::i32 || dtype == DType::i64 || dtype == DType::boolean;
}

/// Checks that a value of this type has as many elements, and can hold those that are numbers.
bool fits(const ValueType& type, const Elements& elements) {
  const bool is_small = static_cast<int64_t>(elements.size()) <= most_elements;
  if (!is_small || !can_have_elements(type, elements.size())) return false;
  const int64_t least = type.dtype == DType::i32   ? std::numeric_limits<int32_t>::min()
                        : type.dtype == DType::i64 ? std::numeric_limits<int64_t>::min()
                                                   : 0;
  const int64_t most = type.dtype == DType::i32   ? std::numeric_limits<int32_t>::max()
                       : type.dtype == DType::i64 ? std::numeric_limits<int64_t>::max()
                                                  : 1;
  const bool is_bool = type.dtype == DType::boolean;
  return std::ranges::all_of(elements, [&](const Dim& element) {
    return element.is_number() ? element.number() >= least && element.number() <= most
                               : !is_bool || !element.is_known();
  });
}

void set_elements(Graph& graph, ValueId id, const OptionalElements& elements) {
  if (id == no_value || !elements || !fits(graph.value(id).type, *elements)) return;
  if (elements->empty() ||
      std::ranges::any_of(*elements, [](const Dim& element) { return element.is_known(); }))
    graph.value(id).type.elements = elements;
}

/// Gives each output its part of the elements that Split divides.
void split_elements(Graph& graph, const Node& node) {
  const OptionalElements x = ShapeContext(graph, node).elements(0);
  if (!x) return;
  size_t first = 0;
  for (ValueId id : node.outputs) {
    const std::optional<Shape> part = id == no_value ? std::nullopt : graph.value(id).type.fixed_shape();
    if (!part || part->size() != 1 || first + static_cast<size_t>(part->front()) > x->size()) return;
    const auto begin = x->begin() + static_cast<ptrdiff_t>(first);
    set_elements(graph, id, Elements(begin, begin + part->front()));
    first += static_cast<size_t>(part->front());
  }
}

}  // namespace

bool can_have_elements(const ValueType& type, size_t count) {
  const std::optional<Shape> shape = type.fixed_shape();
  return can_be_sizes(type.dtype) && shape && shape->size() <= 1 &&
         element_count(*shape) == static_cast<int64_t>(count);
}

namespace {

template <typename T>
Tensor to_tensor(const ValueType& type, const Shape& numbers) {
  Tensor tensor(type.dtype, *type.fixed_shape());
  std::ranges::transform(numbers, tensor.as<T>().begin(),
                         [](int64_t number) { return static_cast<T>(number); });
  return tensor;
}

}  // namespace

std::optional<Tensor> tensor_of_elements(const ValueType& type) {
  const std::optional<Shape> numbers = type.elements ? static_shape(*type.elements) : std::nullopt;
  if (!numbers) return std::nullopt;
  if (type.dtype == DType::i64) return to_tensor<int64_t>(type, *numbers);
  return type.dtype == DType::i32 ? to_tensor<int32_t>(type, *numbers) : to_tensor<bool>(type, *numbers);
}

void infer_elements(Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.outputs.empty()) return;
  if (node.op == "Split") return split_elements(graph, node);
  const auto rule = rules().find(node.op);
  if (rule == rules().end() || node.outputs[0] == no_value ||
      !can_be_sizes(graph.value(node.outputs[0]).type.dtype))
    return;
  set_elements(graph, node.outputs[0], rule->second(ShapeContext(graph, node)));
}

}  // namespace intarsia
