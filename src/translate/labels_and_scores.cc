#include "translate/labels_and_scores.h"

#include <algorithm>
#include <numbers>

namespace intarsia {

ValueId make_floats(Translation& t, const std::vector<float>& values, Shape shape) {
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  Tensor tensor(DType::f32, shape);
  std::ranges::copy(values, tensor.as<float>().begin());
  return t.make_constant(std::move(tensor));
}

ValueId as_f32(Translation& t, size_t i) {
  return t.dtype(i) == DType::f32 ? t.input(i) : t.cast(t.input(i), DType::f32);
}

Status require_numbers(const Translation& t, size_t i) {
  if (is_float(t.dtype(i)) || is_integer(t.dtype(i))) return {};
  return fail("of {}", dtype_name(t.dtype(i)));
}

Result<int64_t> features_of(const Translation& t, size_t i) {
  const SymbolicShape sizes = TRY(t.sizes(i));
  if (sizes.empty() || sizes.size() > 2 || !sizes.back().is_number())
    return fail("of {}", print_shape(sizes));
  return sizes.back().number();
}

namespace {

/// Computes a softmax of the scores that are not 0, which stay 0.
ValueId softmax_of_nonzero(Translation& t, ValueId scores) {
  const auto reduce = [&](const char* op, ValueId x) { return t.make(op, {x, t.make_integers({-1})}); };
  const ValueId zero = make_floats(t, {0});
  const ValueId shifted = t.make("Sub", {scores, reduce("ReduceMax", scores)});
  const ValueId parts = t.make("Where", {t.make("Equal", {scores, zero}), zero, t.make("Exp", {shifted})});
  const ValueId sum = reduce("ReduceSum", parts);
  return t.make("Div", {parts, t.make("Where", {t.make("Equal", {sum, zero}), make_floats(t, {1}), sum})});
}

/// Computes probits of probabilities, by Winitzki's approximation of the inverse of erf.
ValueId probit(Translation& t, ValueId probabilities) {
  constexpr float a = 0.147F;
  const auto number = [&](double value) { return make_floats(t, {static_cast<float>(value)}); };
  const auto times = [&](ValueId x, double factor) { return t.make("Mul", {x, number(factor)}); };
  const ValueId x = t.make("Sub", {times(probabilities, 2), number(1)});
  const ValueId log =
      t.make("Log", {t.make("Mul", {t.make("Sub", {number(1), x}), t.make("Add", {number(1), x})})});
  const ValueId v = t.make("Add", {times(log, 0.5), number(2 / (std::numbers::pi * a))});
  const ValueId root = t.make("Sqrt", {t.make("Sub", {t.make("Mul", {v, v}), times(log, 1 / a)})});
  const ValueId size = t.make("Sqrt", {t.make("Sub", {root, v})});
  const ValueId sign = t.make(
      "Where", {t.make("Less", {x, number(0)}), number(-std::numbers::sqrt2), number(std::numbers::sqrt2)});
  return t.make("Mul", {sign, size});
}

}  // namespace

Result<ValueId> post_transform(Translation& t, ValueId scores) {
  const std::string name = t.attributes().get_string("post_transform", "NONE");
  if (name == "NONE") return scores;
  if (name == "LOGISTIC") return t.make("Sigmoid", {scores});
  if (name == "SOFTMAX") return t.make("Softmax", {scores}, {{"axis", int64_t{-1}}});
  if (name == "SOFTMAX_ZERO") return softmax_of_nonzero(t, scores);
  if (name == "PROBIT") return probit(t, scores);
  return fail("post_transform {}", name);
}

Result<ValueId> linear_scores(Translation& t, const std::vector<float>& coefficients,
                              const std::vector<float>& intercepts, int64_t columns) {
  TRY(require_numbers(t));
  const int64_t features = TRY(features_of(t));
  if (columns < 1 || static_cast<int64_t>(coefficients.size()) != columns * features)
    return fail("{} coefficients for {} features and {} results", coefficients.size(), features, columns);
  if (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != columns)
    return fail("{} intercepts for {} results", intercepts.size(), columns);
  ValueId x = as_f32(t, 0);
  if (TRY(t.rank(0)) == 1) x = t.unsqueeze(x, {0});
  std::vector<ValueId> inputs{x, make_floats(t, coefficients, {columns, features})};
  if (!intercepts.empty()) inputs.push_back(make_floats(t, intercepts));
  return t.make("Gemm", std::move(inputs), {{"transB", int64_t{1}}});
}

Status give_labels(Translation& t, ValueId places) {
  if (!t.wants_output(0)) return {};
  ValueId labels = no_value;
  if (t.attributes().has("classlabels_strings")) {
    const std::vector<std::string> names = t.attributes().get_strings("classlabels_strings");
    Tensor tensor(DType::string, {static_cast<int64_t>(names.size())});
    std::ranges::copy(names, tensor.as<std::string>().begin());
    labels = t.make_constant(std::move(tensor));
  } else {
    labels = t.make_integers(
        t.attributes().get_ints("classlabels_ints", t.attributes().get_ints("classlabels_int64s")));
  }
  t.give(0, t.make("Gather", {labels, places}, {{"axis", int64_t{0}}}));
  return {};
}

}  // namespace intarsia
