// Support vector machines of ai.onnx.ml, as operators of ONNX.
#include <algorithm>
#include <array>
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

/// Numbers of rows, [rows, 1], and arithmetic with them.
struct RowNumbers {
  Translation& t;

  ValueId of(float value) const { return make_floats(t, {value}); }
  ValueId add(ValueId a, ValueId b) const { return t.make("Add", {a, b}); }
  ValueId subtract(ValueId a, ValueId b) const { return t.make("Sub", {a, b}); }
  ValueId multiply(ValueId a, ValueId b) const { return t.make("Mul", {a, b}); }
  ValueId divide(ValueId a, ValueId b) const { return t.make("Div", {a, b}); }
};

using Pair = std::array<ValueId, 2>;

/// Does one round of the iteration for probabilities `p` (Wu, Lin and Weng, "Probability estimates for
/// multi-class classification by pairwise coupling", 2004), where it has not converged.
Pair refined(const RowNumbers& n, const std::array<Pair, 2>& q, const Pair& p) {
  constexpr float tolerance = 0.005F / 2;
  Pair next = p, qp;
  for (size_t i = 0; i < 2; ++i) qp[i] = n.add(n.multiply(q[i][0], p[0]), n.multiply(q[i][1], p[1]));
  ValueId pqp = n.add(n.multiply(p[0], qp[0]), n.multiply(p[1], qp[1]));
  const auto error = [&](size_t i) { return n.t.make("Abs", {n.subtract(qp[i], pqp)}); };
  const ValueId has_converged = n.t.make("Less", {n.t.make("Max", {error(0), error(1)}), n.of(tolerance)});
  for (size_t i = 0; i < 2; ++i) {
    const ValueId change = n.divide(n.subtract(pqp, qp[i]), q[i][i]), scale = n.add(change, n.of(1));
    const ValueId slope = n.add(n.multiply(change, q[i][i]), n.multiply(qp[i], n.of(2)));
    pqp = n.divide(n.divide(n.add(pqp, n.multiply(change, slope)), scale), scale);
    next[i] = n.add(next[i], change);
    for (size_t j = 0; j < 2; ++j) {
      qp[j] = n.divide(n.add(qp[j], n.multiply(change, q[i][j])), scale);
      next[j] = n.divide(next[j], scale);
    }
  }
  for (size_t i = 0; i < 2; ++i) next[i] = n.t.make("Where", {has_converged, p[i], next[i]});
  return next;
}

/// Computes probabilities of two classes from the score of their pair, as ONNX Runtime does: its iteration
/// begins with halves, and ends near those of the pair after two rounds at most.
Result<ValueId> both_probabilities(Translation& t, ValueId score) {
  constexpr float least = 1e-7F;
  constexpr int most_rounds = 2;
  const std::vector<float> a = t.attributes().get_floats("prob_a"), b = t.attributes().get_floats("prob_b");
  if (a.size() != 1 || b.size() != 1)
    return fail("{} numbers prob_a and {} prob_b for two labels", a.size(), b.size());
  const RowNumbers n{t};
  const ValueId sigmoid = t.make("Sigmoid", {n.add(n.multiply(score, n.of(a[0])), n.of(b[0]))});
  const ValueId limited = t.make("Min", {n.subtract(n.of(1), sigmoid), n.of(1 - least)});
  const ValueId first = t.make("Max", {limited, n.of(least)}), second = n.subtract(n.of(1), first);
  const ValueId both = t.make("Neg", {n.multiply(first, second)});
  const std::array<Pair, 2> q{Pair{n.multiply(second, second), both}, Pair{both, n.multiply(first, first)}};
  Pair p{n.of(0.5F), n.of(0.5F)};
  for (int round = 0; round < most_rounds; ++round) p = refined(n, q, p);
  return t.make("Concat", {p[0], p[1]}, {{"axis", int64_t{1}}});
}

/// Gives the labels of classes that pairs vote for, and the scores of pairs or probabilities.
Status classify_by_pairs(Translation& t, int64_t labels) {
  const PairwiseVectors svm = TRY(read_pairs(t, labels));
  const bool has_probabilities = !t.attributes().get_floats("prob_a").empty();
  if (has_probabilities && labels > 2)
    return fail("with probabilities (prob_a, prob_b) of {} labels", labels);
  const ValueId scores = pair_scores(t, svm, TRY(kernel_values(t, svm.vectors())));
  TRY(give_labels(t, voted_class(t, svm, scores)));
  if (labels == 2 && !has_probabilities) return give_both_scores(t, scores);
  t.give(1, TRY(post_transform(t, has_probabilities ? TRY(both_probabilities(t, scores)) : scores)));
  return {};
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
