// Losses of ONNX: a gather of the labels' log-probabilities, weights and a reduction.
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Gives output 0 from log-probabilities [n, classes, rest...]. The mean divides by the sum of the weights of
/// the labels that are not ignored.
Status give_loss(Translation& t, ValueId log_probabilities) {
  const std::string reduction = t.attributes().get_string("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return fail("attribute reduction is '{}'", reduction);
  const DType dtype = computed_type(t.dtype(0));
  const auto number = [&](double value) { return t.make_scalar(dtype, value); };
  ValueId labels = t.input(1), ignored = no_value;
  if (t.attributes().has("ignore_index")) {
    const auto label = static_cast<double>(t.attributes().get_int("ignore_index", 0));
    ignored = t.make("Equal", {labels, t.make_scalar(t.dtype(1), label)});
    labels = t.make("Where", {ignored, t.make_scalar(t.dtype(1), 0), labels});
  }
  const ValueId taken =
      t.make("GatherElements", {log_probabilities, t.unsqueeze(labels, {1})}, {{"axis", int64_t{1}}});
  ValueId loss = t.make("Neg", {t.make("Squeeze", {taken, t.make_integers({1})})}), weights = no_value;
  if (t.has_input(2)) weights = t.make("Gather", {t.computed(2), labels}, {{"axis", int64_t{0}}});
  if (weights != no_value) loss = t.make("Mul", {loss, weights});
  // A label that is ignored counts for nothing, even if its loss is NaN.
  if (ignored != no_value) {
    loss = t.make("Where", {ignored, number(0), loss});
    weights = t.make("Where", {ignored, number(0), weights == no_value ? number(1) : weights});
  }
  const Translation::NamedAttributes all{{"keepdims", int64_t{0}}};
  if (reduction == "sum") loss = t.make("ReduceSum", {loss}, all);
  if (reduction == "mean")
    loss = weights == no_value
               ? t.make("ReduceMean", {loss}, all)
               : t.make("Div", {t.make("ReduceSum", {loss}, all), t.make("ReduceSum", {weights}, all)});
  t.give(0, dtype == t.dtype(0) ? loss : t.cast(loss, t.dtype(0)));
  return {};
}

Status negative_log_likelihood_loss(Translation& t) { return give_loss(t, t.computed(0)); }

Status softmax_cross_entropy_loss(Translation& t) {
  const ValueId log_probabilities = t.make("LogSoftmax", {t.computed(0)}, {{"axis", int64_t{1}}});
  if (t.wants_output(1))
    t.give(1, computed_type(t.dtype(0)) == t.dtype(0) ? log_probabilities
                                                      : t.cast(log_probabilities, t.dtype(0)));
  return give_loss(t, log_probabilities);
}

constexpr TranslationRow loss_rows[] = {
    {"NegativeLogLikelihoodLoss", negative_log_likelihood_loss},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss},
};

}  // namespace

std::span<const TranslationRow> loss_decompositions() { return loss_rows; }

}  // namespace intarsia
