// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <cmath>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/normalization.h"

namespace intarsia::reference {
namespace {

// Inputs of a loss: scores are N x C x the rest, labels N x the rest.
struct LossInputs {
  AxisSplit split;
  std::vector<int64_t> labels;
  std::vector<double> weights;  // indexed by class; all 1 when not given
  Shape label_shape;
  std::optional<int64_t> ignored;
  std::string reduction;
  bool weighted = false;
};

Status check_labels(const LossInputs& inputs) {
  for (int64_t label : inputs.labels) {
    if (label == inputs.ignored) continue;
    if (label < 0 || label >= inputs.split.size)
      return fail("label {} is not one of {} classes", label, inputs.split.size);
  }
  return {};
}

Result<LossInputs> read_loss_inputs(const KernelContext& context) {
  TRY(require_number(context, 0));
  TRY(require_inputs(context, 2));
  const Shape& shape = context.input(0).shape;
  if (shape.size() < 2) return fail("scores have shape {}, want rank 2 or more", print_shape(shape));
  LossInputs inputs;
  inputs.split = split_at_axis(shape, 1);
  inputs.label_shape = shape;
  inputs.label_shape.erase(inputs.label_shape.begin() + 1);
  TRY(require_shape(context, 1, inputs.label_shape));
  inputs.labels = TRY(context.input_ints(1));
  inputs.weights.assign(static_cast<size_t>(inputs.split.size), 1.0);
  if (context.has_input(2)) {
    TRY(require_number(context, 2));
    TRY(require_shape(context, 2, {inputs.split.size}));
    ReadAs<double> weights(context.input(2));
    inputs.weights.assign(weights.begin(), weights.end());
    inputs.weighted = true;
  }
  if (context.attributes().has("ignore_index"))
    inputs.ignored = context.attributes().get_int("ignore_index", 0);
  inputs.reduction = context.attributes().get_string("reduction", "mean");
  if (inputs.reduction != "none" && inputs.reduction != "sum" && inputs.reduction != "mean") {
    return fail("attribute reduction is '{}', want none, sum or mean", inputs.reduction);
  }
  TRY(check_labels(inputs));
  return inputs;
}

// Writes output 0 from the log-probabilities, indexed like the scores. The mean divides by the sum of the
// weights of the labels that are not ignored.
Status write_loss(KernelContext& context, const LossInputs& inputs, const double* log_probabilities) {
  const bool keep = inputs.reduction == "none";
  TensorView y = TRY(context.output(0, context.input(0).dtype, keep ? inputs.label_shape : Shape{}));
  WriteAs<double> out(y);
  double sum = 0;
  double weight_sum = 0;
  for (size_t i = 0; i < inputs.labels.size(); ++i) {
    const int64_t label = inputs.labels[i];
    double loss = 0;
    if (label != inputs.ignored) {
      const auto n = static_cast<int64_t>(i) / inputs.split.inner;
      const auto rest = static_cast<int64_t>(i) % inputs.split.inner;
      const double weight = inputs.weights[static_cast<size_t>(label)];
      loss = -log_probabilities[(n * inputs.split.size + label) * inputs.split.inner + rest] * weight;
      weight_sum += weight;
    }
    if (keep) out[static_cast<int64_t>(i)] = loss;
    sum += loss;
  }
  if (!keep) out[0] = inputs.reduction == "sum" ? sum : sum / weight_sum;
  return {};
}

Status run_negative_log_likelihood_loss(KernelContext& context) {
  const LossInputs inputs = TRY(read_loss_inputs(context));
  ReadAs<double> log_probabilities(context.input(0));
  return write_loss(context, inputs, log_probabilities.data());
}

std::vector<double> log_softmax(const ReadAs<double>& scores, const AxisSplit& split) {
  std::vector<double> result(scores.begin(), scores.end());
  for (int64_t i = 0; i < split.outer * split.inner && split.size > 0; ++i) {
    double* row = result.data() + i / split.inner * split.size * split.inner + i % split.inner;
    double largest = row[0];
    for (int64_t k = 1; k < split.size; ++k) largest = std::max(largest, row[k * split.inner]);
    double sum = 0;
    for (int64_t k = 0; k < split.size; ++k) sum += std::exp(row[k * split.inner] - largest);
    for (int64_t k = 0; k < split.size; ++k) row[k * split.inner] -= largest + std::log(sum);
  }
  return result;
}

Status run_softmax_cross_entropy_loss(KernelContext& context) {
  const LossInputs inputs = TRY(read_loss_inputs(context));
  const std::vector<double> log_probabilities = log_softmax(ReadAs<double>(context.input(0)), inputs.split);
  if (context.wants_output(1)) {
    const ConstTensorView& scores = context.input(0);
    write_numbers(log_probabilities.data(), TRY(context.output(1, scores.dtype, scores.shape)));
  }
  return write_loss(context, inputs, log_probabilities.data());
}

}  // namespace

std::span<const KernelEntry> loss_kernels() {
  static const KernelEntry entries[] = {
      {"NegativeLogLikelihoodLoss", "", run_negative_log_likelihood_loss},
      {"SoftmaxCrossEntropyLoss", "", run_softmax_cross_entropy_loss},
  };
  return entries;
}

}  // namespace intarsia::reference
