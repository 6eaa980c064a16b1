// Support vector machines of ai.onnx.ml, as operators of ONNX.
#include <algorithm>
#include <numeric>

#include "translate/labels_and_scores.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Computes the kernel function of each row of the input and each support vector, [rows, vectors]
/// (Schoelkopf and Smola, "Learning with Kernels", 2002).
Result<ValueId> kernel_values(Translation& t, int64_t count) {
  TRY(require_numbers(t));
  const std::string kind = t.attributes().get_string("kernel_type", "LINEAR");
  const std::vector<float> vectors = t.attributes().get_floats("support_vectors");
  const int64_t features = TRY(features_of(t));
  ValueId x = as_f32(t, 0);
  if (TRY(t.rank(0)) == 1) x = t.unsqueeze(x, {0});
  if (count < 1 || static_cast<int64_t>(vectors.size()) != count * features)
    return fail("{} numbers for {} support vectors of {} features", vectors.size(), count, features);
  std::vector<float> parameters = t.attributes().get_floats("kernel_params");
  if (parameters.size() != 3 && kind != "LINEAR") return fail("{} kernel_params", parameters.size());
  const ValueId support = make_floats(t, vectors, {count, features});
  if (kind == "RBF") {
    const ValueId apart = t.make("Sub", {t.unsqueeze(x, {1}), support});
    const ValueId squares =
        t.make("ReduceSumSquare", {apart, t.make_integers({2})}, {{"keepdims", int64_t{0}}});
    return t.make("Exp", {t.make("Mul", {squares, make_floats(t, {-parameters[0]})})});
  }
  const ValueId products = t.make("Gemm", {x, support}, {{"transB", int64_t{1}}});
  if (kind == "LINEAR") return products;
  const ValueId scaled = t.make("Mul", {products, make_floats(t, {parameters[0]})});
  const ValueId shifted = t.make("Add", {scaled, make_floats(t, {parameters[1]})});
  if (kind == "SIGMOID") return t.make("Tanh", {shifted});
  if (kind == "POLY") return t.make("Pow", {shifted, make_floats(t, {parameters[2]})});
  return fail("kernel_type {}", kind);
}

/// Translates SVMRegressor: a sum over the support vectors, or, without any, of the features themselves.
Status svm_regressor(Translation& t) {
  const Attributes& a = t.attributes();
  const std::vector<float> coefficients = a.get_floats("coefficients"), rho = a.get_floats("rho", {0});
  const int64_t count = a.get_int("n_supports", 0);
  if (a.get_string("post_transform", "NONE") != "NONE")
    return fail("post_transform {}", a.get_string("post_transform", ""));
  if (rho.size() != 1) return fail("{} numbers rho", rho.size());
  ValueId y = no_value;
  if (count > 0) {
    if (static_cast<int64_t>(coefficients.size()) != count)
      return fail("{} coefficients for {} support vectors", coefficients.size(), count);
    const ValueId values = TRY(kernel_values(t, count));
    y = t.make("Gemm", {values, make_floats(t, coefficients, {count, 1}), make_floats(t, rho)});
  } else {
    y = TRY(linear_scores(t, coefficients, rho, 1));
  }
  if (a.get_int("one_class", 0) != 0)
    y = t.make("Where",
               {t.make("Greater", {y, make_floats(t, {0})}), make_floats(t, {1}), make_floats(t, {-1})});
  t.give(0, y);
  return {};
}

/// Support vectors of classes, and a classifier of each pair of them: (0, 1), (0, 2), ... (1, 2), ...
struct PairwiseVectors {
  std::vector<int64_t> of_class;  // vectors of each class, which are side by side
  std::vector<float>
      coefficients;        // [classes - 1, vectors]: row i is of pairs with class i, or i + 1 after it
  std::vector<float> rho;  // one for each pair

  int64_t classes() const { return std::ssize(of_class); }
  int64_t pairs() const { return classes() * (classes() - 1) / 2; }
  int64_t vectors() const { return std::reduce(of_class.begin(), of_class.end()); }
};

constexpr int64_t most_classes = 1024;

Result<PairwiseVectors> read_pairs(const Translation& t, int64_t labels) {
  const Attributes& a = t.attributes();
  PairwiseVectors svm{a.get_ints("vectors_per_class"), a.get_floats("coefficients"), a.get_floats("rho")};
  if (svm.classes() != labels || labels < 2 || labels > most_classes)
    return fail("{} vectors_per_class for {} labels", svm.classes(), labels);
  for (int64_t count : svm.of_class)
    if (count < 0 || count > max_made_elements) return fail("{} vectors of a class", count);
  if (svm.vectors() * svm.pairs() > max_made_elements)
    return fail("{} vectors of {} pairs of classes", svm.vectors(), svm.pairs());
  if (std::ssize(svm.coefficients) != (labels - 1) * svm.vectors())
    return fail("{} coefficients for {} support vectors of {} classes", svm.coefficients.size(),
                svm.vectors(), labels);
  if (std::ssize(svm.rho) != svm.pairs())
    return fail("{} numbers rho for {} pairs of classes", svm.rho.size(), svm.pairs());
  return svm;
}

/// Calls visit(pair, first, second) for each pair of classes.
template <typename Visit>
void visit_pairs(int64_t classes, const Visit& visit) {
  for (int64_t first = 0, pair = 0; first < classes; ++first)
    for (int64_t second = first + 1; second < classes; ++second) visit(pair++, first, second);
}

/// Computes the score of each pair of classes, [rows, pairs].
ValueId pair_scores(Translation& t, const PairwiseVectors& svm, ValueId values) {
  const int64_t vectors = svm.vectors(), pairs = svm.pairs();
  std::vector<int64_t> begins(svm.of_class.size());
  std::exclusive_scan(svm.of_class.begin(), svm.of_class.end(), begins.begin(), int64_t{0});
  std::vector<float> weights(static_cast<size_t>(vectors * pairs));
  visit_pairs(svm.classes(), [&](int64_t pair, int64_t first, int64_t second) {
    const auto set = [&](int64_t of_class, int64_t row) {
      const auto c = static_cast<size_t>(of_class);
      for (int64_t vector = begins[c]; vector < begins[c] + svm.of_class[c]; ++vector)
        weights[static_cast<size_t>(vector * pairs + pair)] =
            svm.coefficients[static_cast<size_t>(row * vectors + vector)];
    };
    set(first, second - 1);
    set(second, first);
  });
  return t.make("Gemm", {values, make_floats(t, weights, {vectors, pairs}), make_floats(t, svm.rho)});
}

/// Returns the class with the most votes: a pair votes for its first class where its score is above 0.
ValueId voted_class(Translation& t, const PairwiseVectors& svm, ValueId scores) {
  const int64_t classes = svm.classes(), pairs = svm.pairs();
  std::vector<float> changes(static_cast<size_t>(pairs * classes)), without(static_cast<size_t>(classes));
  visit_pairs(classes, [&](int64_t pair, int64_t first, int64_t second) {
    changes[static_cast<size_t>(pair * classes + first)] = 1;
    changes[static_cast<size_t>(pair * classes + second)] = -1;
    ++without[static_cast<size_t>(second)];
  });
  const ValueId is_first = t.cast(t.make("Greater", {scores, make_floats(t, {0})}), DType::f32);
  const ValueId votes =
      t.make("Gemm", {is_first, make_floats(t, changes, {pairs, classes}), make_floats(t, without)});
  return t.make("ArgMax", {votes}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
}

/// Gives the score of the only pair of classes for each of them.
Status give_both_scores(Translation& t, ValueId score) {
  const std::string transform = t.attributes().get_string("post_transform", "NONE");
  if (transform == "PROBIT") return fail("post_transform {} of one score", transform);
  ValueId first = t.make("Neg", {score});
  if (transform == "LOGISTIC") {
    first = t.make("Sigmoid", {first});
    score = t.make("Sigmoid", {score});
  } else if (transform != "NONE") {
    first = t.make("Sub", {make_floats(t, {1}), score});
  }
  t.give(1, t.make("Concat", {first, score}, {{"axis", int64_t{1}}}));
  return {};
}

/// Gives the labels of classes that pairs vote for, and the scores of pairs.
Status classify_by_pairs(Translation& t, int64_t labels) {
  const PairwiseVectors svm = TRY(read_pairs(t, labels));
  if (!t.attributes().get_floats("prob_a").empty()) return fail("with probabilities (prob_a, prob_b)");
  const ValueId scores = pair_scores(t, svm, TRY(kernel_values(t, svm.vectors())));
  TRY(give_labels(t, voted_class(t, svm, scores)));
  if (labels > 2) {
    t.give(1, TRY(post_transform(t, scores)));
    return {};
  }
  return give_both_scores(t, scores);
}

/// Gives the label of the largest of linear scores; of two labels the second where it is above a limit.
Status classify_by_features(Translation& t, int64_t labels) {
  const std::vector<float> coefficients = t.attributes().get_floats("coefficients"),
                           rho = t.attributes().get_floats("rho");
  if (rho.empty()) return fail("without rho");
  const std::vector<float> intercepts(static_cast<size_t>(labels), rho[0]);
  const ValueId scores = TRY(linear_scores(t, coefficients, intercepts, labels));
  ValueId place = t.make("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  if (labels == 2 && t.attributes().get_floats("prob_a").empty()) {
    const bool is_positive = std::ranges::all_of(coefficients, [](float x) { return x >= 0; });
    const ValueId most = t.make("ReduceMax", {scores, t.make_integers({1})}, {{"keepdims", int64_t{0}}});
    const ValueId is_above = t.make(is_positive ? "GreaterOrEqual" : "Greater",
                                    {most, make_floats(t, {is_positive ? 0.5F : 0.0F})});
    place = t.make("Where", {is_above, t.make_integers({1}), place});
  }
  TRY(give_labels(t, place));
  t.give(1, TRY(post_transform(t, scores)));
  return {};
}

/// Translates SVMClassifier, whose results are those of ONNX Runtime where ONNX leaves them open.
Status svm_classifier(Translation& t) {
  const Attributes& a = t.attributes();
  const auto labels = static_cast<int64_t>(
      std::max(a.get_ints("classlabels_ints").size(), a.get_strings("classlabels_strings").size()));
  if (labels < 2) return fail("of {} labels", labels);
  const std::vector<int64_t> of_class = a.get_ints("vectors_per_class");
  const bool has_vectors = std::ranges::any_of(of_class, [](int64_t count) { return count != 0; });
  return has_vectors ? classify_by_pairs(t, labels) : classify_by_features(t, labels);
}

constexpr TranslationRow support_vector_rows[] = {
    {"SVMClassifier", svm_classifier, machine_learning},
    {"SVMRegressor", svm_regressor, machine_learning},
};

}  // namespace

std::span<const TranslationRow> support_vector_decompositions() { return support_vector_rows; }

}  // namespace intarsia
