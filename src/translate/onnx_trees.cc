// TreeEnsembleRegressor and TreeEnsembleClassifier as sums of the weights of leaves, and what follows them.
#include <algorithm>

#include "base/decision_trees.h"
#include "translate/labels_and_scores.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Makes a TreeEnsembleRegressor that only sums, of rows.
ValueId sum_weights(Translation& t, Attributes attributes) {
  for (const char* name : {"base_values", "base_values_as_tensor", "post_transform"}) attributes.erase(name);
  const ValueId x = is_float(t.dtype(0)) ? t.computed(0) : t.cast(t.input(0), DType::f32);
  return t.make_of_domain(std::string(machine_learning), "TreeEnsembleRegressor", 3, {x},
                          std::move(attributes));
}

ValueId with_base(Translation& t, ValueId scores, const std::vector<double>& base_values) {
  if (base_values.empty()) return scores;
  return t.make("Add", {scores, make_floats(t, {base_values.begin(), base_values.end()})});
}

Status tree_regressor(Translation& t) {
  TRY(require_numbers(t));
  const DecisionTrees trees = TRY(read_tree_regressor(t.attributes(), TRY(features_of(t))));
  const std::string transform = t.attributes().get_string("post_transform", "NONE");
  if (trees.targets == 1 && transform != "NONE" && transform != "PROBIT")
    return fail("post_transform {} of one target", transform);
  const ValueId sums = sum_weights(t, t.attributes());
  t.give(0, TRY(post_transform(t, with_base(t, sums, trees.base_values))));
  return {};
}

/// Returns the attributes of a classifier as those of a regressor with a target for each class.
Attributes as_regressor(const Attributes& classifier, int64_t targets) {
  Attributes attributes;
  for (const auto& [name, value] : classifier)
    if (name.starts_with("class_"))
      attributes.set("target_" + name.substr(6), value);
    else if (!name.starts_with("classlabels_"))
      attributes.set(name, value);
  attributes.set("n_targets", targets);
  return attributes;
}

bool all_weights(const DecisionTrees& trees, auto&& fits) {
  return std::ranges::all_of(trees.leaves, [&](const std::vector<LeafWeight>& leaf) {
    return std::ranges::all_of(leaf, [&](const LeafWeight& weight) { return fits(weight.weight); });
  });
}

/// Gives labels and scores of two classes from sums [rows, 1] for the second. Where no weight is negative,
/// the sum is a probability.
Status give_two_classes(Translation& t, const DecisionTrees& trees, ValueId sums) {
  const bool is_probability = all_weights(trees, [](double weight) { return weight >= 0; });
  const ValueId above = t.make("Greater", {sums, make_floats(t, {is_probability ? 0.5F : 0})});
  TRY(give_labels(t, t.make("Squeeze", {t.cast(above, DType::i64), t.make_integers({1})})));
  const std::string transform = t.attributes().get_string("post_transform", "NONE");
  if (transform != "NONE" && transform != "LOGISTIC")
    return fail("post_transform {} of one score", transform);
  const bool is_rest = is_probability && transform == "NONE";
  const ValueId other = is_rest ? t.make("Sub", {make_floats(t, {1}), sums}) : t.make("Neg", {sums});
  t.give(1, TRY(post_transform(t, t.make("Concat", {other, sums}, {{"axis", int64_t{1}}}))));
  return {};
}

/// Translates TreeEnsembleClassifier: the label is that of the greatest score. A class that an element gets
/// no weight for has the score 0, and is not chosen.
Status tree_classifier(Translation& t) {
  TRY(require_numbers(t));
  const auto labels =
      static_cast<int64_t>(std::max(t.attributes().get_ints("classlabels_int64s").size(),
                                    t.attributes().get_strings("classlabels_strings").size()));
  const std::vector<int64_t> classes = t.attributes().get_ints("class_ids");
  const bool is_binary = labels == 2 && std::ranges::count(classes, 0) == std::ssize(classes);
  if (labels < 3 && !is_binary) return fail("with weights for both or the second of {} classes", labels);
  const Attributes attributes = as_regressor(t.attributes(), is_binary ? 1 : labels);
  const DecisionTrees trees = TRY(read_tree_regressor(attributes, TRY(features_of(t))));
  const ValueId sums = with_base(t, sum_weights(t, attributes), trees.base_values);
  if (is_binary) return give_two_classes(t, trees, sums);
  const std::vector<bool> weighted = always_weighted(trees);
  const bool has_all = !trees.base_values.empty() || std::ranges::find(weighted, false) == weighted.end();
  if (!has_all && !all_weights(trees, [](double weight) { return weight > 0; }))
    return fail("classes that may get no weight, beside weights that are not positive");
  TRY(give_labels(t, t.make("ArgMax", {sums}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}})));
  t.give(1, TRY(post_transform(t, sums)));
  return {};
}

constexpr TranslationRow tree_rows[] = {
    {"TreeEnsembleClassifier", tree_classifier, machine_learning},
    {"TreeEnsembleRegressor", tree_regressor, machine_learning},
};

}  // namespace

std::span<const TranslationRow> tree_decompositions() { return tree_rows; }

}  // namespace intarsia
