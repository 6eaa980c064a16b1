// Operators of ai.onnx.ml on numbers, as operators of ONNX.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "translate/labels_and_scores.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Fails unless a list has one number, or one for each feature.
template <typename List>
Status require_fit(const Translation& t, const char* name, const List& list) {
  if (list.size() == 1 || static_cast<int64_t>(list.size()) == TRY(features_of(t))) return {};
  return fail("attribute {} has {} numbers for {} features", name, list.size(), TRY(features_of(t)));
}

Status array_feature_extractor(Translation& t) {
  ValueId x = t.input(0);
  if (TRY(t.rank(0)) == 0) return fail("of a scalar");
  if (TRY(t.rank(0)) == 1) x = t.unsqueeze(x, {0});
  if (t.is_constant(1))
    for (int64_t place : TRY(t.integers(1)))
      if (place < 0) return fail("feature {}", place);
  const ValueId places = t.make("Reshape", {t.input(1), t.make_integers({-1})});
  t.give(0, t.make("Gather", {x, places}, {{"axis", int64_t{-1}}}));
  return {};
}

Status binarizer(Translation& t) {
  TRY(require_numbers(t));
  double threshold = t.attributes().get_float("threshold", 0);
  if (is_integer(t.dtype(0))) threshold = std::floor(threshold);
  if (!(std::abs(threshold) < 1e9) && is_integer(t.dtype(0))) return fail("a threshold of {}", threshold);
  t.give(0, t.cast(t.make("Greater", {t.input(0), t.make_scalar(t.dtype(0), threshold)}), t.dtype(0)));
  return {};
}

Status scaler(Translation& t) {
  TRY(require_numbers(t));
  const std::vector<float> offset = t.attributes().get_floats("offset"),
                           scale = t.attributes().get_floats("scale");
  TRY(require_fit(t, "offset", offset));
  TRY(require_fit(t, "scale", scale));
  t.give(0, t.make("Mul", {t.make("Sub", {as_f32(t, 0), make_floats(t, offset)}), make_floats(t, scale)}));
  return {};
}

Status imputer(Translation& t) {
  const bool is_integral = t.dtype(0) == DType::i64;
  if (!is_integral && t.dtype(0) != DType::f32) return fail("of {}", dtype_name(t.dtype(0)));
  ValueId imputed = no_value, replaced = no_value;
  const float number = t.attributes().get_float("replaced_value_float", 0);
  if (is_integral) {
    const std::vector<int64_t> values = t.attributes().get_ints("imputed_value_int64s");
    TRY(require_fit(t, "imputed_value_int64s", values));
    imputed = t.make_integers(values);
    const int64_t integer = t.attributes().get_int("replaced_value_int64", 0);
    replaced = t.make("Equal", {t.input(0), t.make_integers({integer})});
  } else {
    const std::vector<float> values = t.attributes().get_floats("imputed_value_floats");
    TRY(require_fit(t, "imputed_value_floats", values));
    imputed = make_floats(t, values);
    replaced = std::isnan(number) ? t.make("IsNaN", {t.input(0)})
                                  : t.make("Equal", {t.input(0), make_floats(t, {number})});
  }
  t.give(0, t.make("Where", {replaced, imputed, t.input(0)}));
  return {};
}

/// Translates Normalizer; rows whose norm is 0 stay.
Status normalizer(Translation& t) {
  TRY(require_numbers(t));
  TRY(features_of(t));
  const std::string norm = t.attributes().get_string("norm", "MAX");
  const std::map<std::string, std::string> reductions{
      {"MAX", "ReduceMax"}, {"L1", "ReduceL1"}, {"L2", "ReduceL2"}};
  const auto at = reductions.find(norm);
  if (at == reductions.end()) return fail("norm '{}'", norm);
  const ValueId x = as_f32(t, 0), size = t.make(at->second, {x, t.make_integers({-1})});
  const ValueId is_zero = t.make("Equal", {size, make_floats(t, {0})});
  t.give(0, t.make("Div", {x, t.make("Where", {is_zero, make_floats(t, {1}), size})}));
  return {};
}

Status feature_vectorizer(Translation& t) {
  const std::vector<int64_t> wanted = t.attributes().get_ints("inputdimensions");
  if (wanted.size() != t.input_count())
    return fail("{} inputdimensions for {} inputs", wanted.size(), t.input_count());
  std::vector<ValueId> parts;
  for (size_t i = 0; i < wanted.size(); ++i) {
    TRY(require_numbers(t, i));
    const int64_t has = TRY(features_of(t, i));
    if (wanted[i] < 1 || wanted[i] > max_made_elements) return fail("inputdimensions of {}", wanted[i]);
    ValueId part = as_f32(t, i);
    if (TRY(t.rank(i)) == 1) part = t.unsqueeze(part, {0});
    if (has > wanted[i]) part = t.slice(part, 1, 0, wanted[i]);
    if (has < wanted[i]) part = t.make("Pad", {part, t.make_integers({0, 0, 0, wanted[i] - has})});
    parts.push_back(part);
  }
  t.give(0, t.make("Concat", std::move(parts), {{"axis", int64_t{1}}}));
  return {};
}

/// Translates OneHotEncoder of integers; an integer that is not a category gives all zeros.
Status one_hot_encoder(Translation& t) {
  TRY(require_numbers(t));
  const std::vector<int64_t> categories = t.attributes().get_ints("cats_int64s");
  if (categories.empty()) return fail("without cats_int64s");
  if (t.attributes().get_int("zeros", 1) == 0) return fail("with zeros = 0: others are an error");
  const ValueId x = t.dtype(0) == DType::i64 ? t.input(0) : t.cast(t.input(0), DType::i64);
  t.give(0, t.cast(t.make("Equal", {t.unsqueeze(x, {-1}), t.make_integers(categories)}), DType::f32));
  return {};
}

Status linear_regressor(Translation& t) {
  const Attributes& a = t.attributes();
  const ValueId y = TRY(
      linear_scores(t, a.get_floats("coefficients"), a.get_floats("intercepts"), a.get_int("targets", 1)));
  t.give(0, TRY(post_transform(t, y)));
  return {};
}

/// Translates LinearClassifier: the label is that of the largest score. One score for two labels is that of
/// the second, which is chosen above 0.
Status linear_classifier(Translation& t) {
  const Attributes& a = t.attributes();
  const size_t labels =
      std::max(a.get_ints("classlabels_ints").size(), a.get_strings("classlabels_strings").size());
  const std::vector<float> coefficients = a.get_floats("coefficients");
  const int64_t classes =
      static_cast<int64_t>(coefficients.size()) / std::max<int64_t>(TRY(features_of(t)), 1);
  const bool is_binary = classes == 1 && labels == 2;
  if (!is_binary && static_cast<int64_t>(labels) != classes)
    return fail("{} labels for {} classes", labels, classes);
  ValueId scores = TRY(linear_scores(t, coefficients, a.get_floats("intercepts"), classes));
  if (is_binary) {
    const ValueId above = t.make("Greater", {scores, make_floats(t, {0})});
    TRY(give_labels(t, t.make("Squeeze", {t.cast(above, DType::i64), t.make_integers({1})})));
    const bool is_logistic = a.get_string("post_transform", "NONE") == "LOGISTIC";
    if (!is_logistic && a.get_string("post_transform", "NONE") != "NONE")
      return fail("post_transform {} of one score", a.get_string("post_transform", ""));
    if (is_logistic) scores = t.make("Sigmoid", {scores});
    const ValueId other = t.make("Sub", {make_floats(t, {1}), scores});
    t.give(1, t.make("Concat", {other, scores}, {{"axis", int64_t{1}}}));
    return {};
  }
  TRY(give_labels(t, t.make("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}})));
  t.give(1, TRY(post_transform(t, scores)));
  return {};
}

/// Keys of a LabelEncoder, ascending and each once, with the value of the first that is equal.
struct Labels {
  Tensor keys, values;
  std::optional<int64_t> of_nan;  // place of the value for NaN, which equals no key
};

/// Returns the attribute keys_... or values_... of numbers.
Result<Tensor> read_labels(const Translation& t, const std::string& kind) {
  if (const Tensor* tensor = t.attributes().get_tensor(kind + "_tensor")) return *tensor;
  const std::vector<int64_t> integers = t.attributes().get_ints(kind + "_int64s");
  const std::vector<float> floats = t.attributes().get_floats(kind + "_floats");
  if (integers.empty() && floats.empty()) return fail("{} that are not numbers", kind);
  Tensor tensor(integers.empty() ? DType::f32 : DType::i64,
                {static_cast<int64_t>(std::max(integers.size(), floats.size()))});
  if (integers.empty())
    std::ranges::copy(floats, tensor.as<float>().begin());
  else
    std::ranges::copy(integers, tensor.as<int64_t>().begin());
  return tensor;
}

/// Copies the elements at these places, in their order.
Tensor take(const Tensor& from, const std::vector<int64_t>& places) {
  Tensor taken(from.dtype(), {static_cast<int64_t>(places.size())});
  const size_t bytes = dtype_bytes(from.dtype(), 1);
  for (size_t i = 0; i < places.size(); ++i)
    std::memcpy(static_cast<std::byte*>(taken.data()) + i * bytes,
                static_cast<const std::byte*>(from.data()) + static_cast<size_t>(places[i]) * bytes, bytes);
  return taken;
}

template <typename T>
Labels sort_labels(const Tensor& keys, const Tensor& values) {
  Labels labels;
  std::map<T, int64_t> places;
  for (size_t i = 0; i < keys.as<T>().size(); ++i) {
    const T key = keys.as<T>()[i];
    if (key == key)
      places.emplace(key, static_cast<int64_t>(i));
    else if (!labels.of_nan)
      labels.of_nan = static_cast<int64_t>(i);
  }
  std::vector<int64_t> order;
  for (const auto& [key, place] : places) order.push_back(place);
  labels.keys = take(keys, order);
  if (labels.of_nan) order.push_back(*labels.of_nan), labels.of_nan = static_cast<int64_t>(order.size()) - 1;
  labels.values = take(values, order);
  return labels;
}

/// Translates a LabelEncoder of numbers: the place of a key among the sorted ones is the number of those that
/// are not above it, less one.
Status label_encoder(Translation& t) {
  constexpr int64_t most_keys = 4096;  // beyond it, a search per element is less work
  const Tensor keys = TRY(read_labels(t, "keys")), values = TRY(read_labels(t, "values"));
  const int64_t count = element_count(keys.shape());
  if (count != element_count(values.shape()) || keys.dtype() != t.dtype(0))
    return fail("{} keys of {} for {} values and an input of {}", count, dtype_name(keys.dtype()),
                element_count(values.shape()), dtype_name(t.dtype(0)));
  const bool is_integral = keys.dtype() == DType::i64;
  if ((!is_integral && keys.dtype() != DType::f32) ||
      !(is_float(values.dtype()) || is_integer(values.dtype())))
    return fail("of {} to {}", dtype_name(keys.dtype()), dtype_name(values.dtype()));
  if (count < 1 || count > most_keys) return fail("{} keys", count);
  const Labels labels = is_integral ? sort_labels<int64_t>(keys, values) : sort_labels<float>(keys, values);
  const Tensor* given = t.attributes().get_tensor("default_tensor");
  if (given != nullptr && (given->dtype() != values.dtype() || element_count(given->shape()) != 1))
    return fail("default_tensor does not fit the values");
  const double otherwise = is_float(values.dtype())
                               ? t.attributes().get_float("default_float", -0.0F)
                               : static_cast<double>(t.attributes().get_int("default_int64", -1));
  ValueId y = given == nullptr ? t.make_scalar(values.dtype(), otherwise)
                               : t.make("Reshape", {t.make_constant(*given), t.make_integers({1})});
  const ValueId x = t.input(0), table = t.make_constant(labels.values);
  const auto look_up = [&](ValueId from, ValueId places) {
    return t.make("Gather", {from, places}, {{"axis", int64_t{0}}});
  };
  if (element_count(labels.keys.shape()) > 0) {
    const ValueId sorted = t.make_constant(labels.keys);
    const ValueId reached = t.cast(t.make("GreaterOrEqual", {t.unsqueeze(x, {-1}), sorted}), DType::i64);
    const ValueId above = t.make("ReduceSum", {reached, t.make_integers({-1})}, {{"keepdims", int64_t{0}}});
    const ValueId place =
        t.make("Max", {t.make("Sub", {above, t.make_scalar(DType::i64, 1)}), t.make_scalar(DType::i64, 0)});
    y = t.make("Where", {t.make("Equal", {look_up(sorted, place), x}), look_up(table, place), y});
  }
  if (labels.of_nan)
    y = t.make("Where", {t.make("IsNaN", {x}), look_up(table, t.make_integers({*labels.of_nan})), y});
  t.give(0, y);
  return {};
}

constexpr TranslationRow machine_learning_rows[] = {
    {"ArrayFeatureExtractor", array_feature_extractor, machine_learning},
    {"Binarizer", binarizer, machine_learning},
    {"FeatureVectorizer", feature_vectorizer, machine_learning},
    {"Imputer", imputer, machine_learning},
    {"LabelEncoder", label_encoder, machine_learning},
    {"LinearClassifier", linear_classifier, machine_learning},
    {"LinearRegressor", linear_regressor, machine_learning},
    {"Normalizer", normalizer, machine_learning},
    {"OneHotEncoder", one_hot_encoder, machine_learning},
    {"Scaler", scaler, machine_learning},
};

}  // namespace

std::span<const TranslationRow> machine_learning_decompositions() { return machine_learning_rows; }

}  // namespace intarsia
