// Gradients of activations and of losses, which TensorFlow computes from what the function gave or read.
#include "translate/rules.h"

namespace intarsia {
namespace {

Status require_float(const Translation& t) {
  return is_float(t.dtype(0)) ? Status{} : fail("of {}", dtype_name(t.dtype(0)));
}

ValueId number(Translation& t, double value) { return t.make_scalar(t.dtype(0), value); }

/// Gives the gradient (input 0) where what the function read or gave (input 1) is positive, else zero.
Status relu_grad(Translation& t) {
  const ValueId is_active = t.make("Greater", {t.input(1), number(t, 0)});
  t.give(0, t.make("Where", {is_active, t.input(0), number(t, 0)}));
  return {};
}

Status relu6_grad(Translation& t) {
  const ValueId above = t.make("Greater", {t.input(1), number(t, 0)}),
                below = t.make("Less", {t.input(1), number(t, 6)});
  t.give(0, t.make("Where", {t.make("And", {above, below}), t.input(0), number(t, 0)}));
  return {};
}

Status leaky_relu_grad(Translation& t) {
  TRY(require_float(t));
  const float alpha = t.attributes().get_float("alpha", 0.2f);
  const ValueId is_active = t.make("Greater", {t.input(1), number(t, 0)});
  t.give(0, t.make("Where", {is_active, t.input(0), t.make("Mul", {t.input(0), number(t, alpha)})}));
  return {};
}

/// Translates a gradient that is the given one (input `given`) times a function of the result y.
template <typename Factor>
Status times_factor(Translation& t, size_t given, Factor factor) {
  TRY(require_float(t));
  t.give(0, t.make("Mul", {t.input(given), factor(t, t.input(1 - given))}));
  return {};
}

Status elu_grad(Translation& t) {
  return times_factor(t, 0, [](Translation& u, ValueId y) {
    return u.make("Where",
                  {u.make("Less", {y, number(u, 0)}), u.make("Add", {y, number(u, 1)}), number(u, 1)});
  });
}

Status sigmoid_grad(Translation& t) {
  return times_factor(
      t, 1, [](Translation& u, ValueId y) { return u.make("Mul", {y, u.make("Sub", {number(u, 1), y})}); });
}

Status tanh_grad(Translation& t) {
  return times_factor(
      t, 1, [](Translation& u, ValueId y) { return u.make("Sub", {number(u, 1), u.make("Mul", {y, y})}); });
}

Status sqrt_grad(Translation& t) {
  return times_factor(t, 1, [](Translation& u, ValueId y) { return u.make("Div", {number(u, 0.5), y}); });
}

Status rsqrt_grad(Translation& t) {
  return times_factor(t, 1, [](Translation& u, ValueId y) {
    return u.make("Mul", {u.make("Mul", {u.make("Mul", {y, y}), y}), number(u, -0.5)});
  });
}

Status reciprocal_grad(Translation& t) {
  return times_factor(t, 1, [](Translation& u, ValueId y) { return u.make("Neg", {u.make("Mul", {y, y})}); });
}

Status softplus_grad(Translation& t) {
  return times_factor(t, 0, [](Translation& u, ValueId x) { return u.make("Sigmoid", {x}); });
}

Status softsign_grad(Translation& t) {
  return times_factor(t, 0, [](Translation& u, ValueId x) {
    const ValueId divisor = u.make("Add", {u.make("Abs", {x}), number(u, 1)});
    return u.make("Reciprocal", {u.make("Mul", {divisor, divisor})});
  });
}

/// Sums a gradient over all axes but that of the channels.
Status bias_add_grad(Translation& t) {
  const int64_t rank = TRY(t.rank(0));
  const std::string format = t.attributes().get_string("data_format", "NHWC");
  const int64_t channels = format == "NCHW" ? 1 : rank - 1;
  if (rank < 2) return fail("of rank {}", rank);
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != channels) axes.push_back(axis);
  t.give(0, t.make("ReduceSum", {t.input(0), t.make_integers(axes)}, {{"keepdims", int64_t{0}}}));
  return {};
}

/// Gives the loss of each row and its gradient by the logits: softmax(logits) - labels.
Status give_cross_entropy(Translation& t, ValueId labels) {
  const ValueId logits = t.input(0);
  const ValueId log_probabilities = t.make("LogSoftmax", {logits}, {{"axis", int64_t{-1}}});
  // A label of 0 adds nothing, even where the probability is 0 and its logarithm infinite.
  const ValueId is_zero = t.make("Equal", {labels, number(t, 0)});
  const ValueId terms = t.make("Where", {is_zero, number(t, 0), t.make("Mul", {labels, log_probabilities})});
  const ValueId sum = t.make("ReduceSum", {terms, t.make_integers({1})}, {{"keepdims", int64_t{0}}});
  t.give(0, t.make("Neg", {sum}));
  t.give(1, t.make("Sub", {t.make("Softmax", {logits}, {{"axis", int64_t{-1}}}), labels}));
  return {};
}

Status softmax_cross_entropy(Translation& t) {
  TRY(require_float(t));
  if (TRY(t.sizes(0)) != TRY(t.sizes(1)) || TRY(t.rank(0)) != 2)
    return fail("of {} and {}", print_shape(TRY(t.sizes(0))), print_shape(TRY(t.sizes(1))));
  return give_cross_entropy(t, t.input(1));
}

constexpr TranslationRow gradient_rows[] = {
    {"BiasAddGrad", bias_add_grad},
    {"EluGrad", elu_grad},
    {"InvGrad", reciprocal_grad},
    {"LeakyReluGrad", leaky_relu_grad},
    {"ReciprocalGrad", reciprocal_grad},
    {"Relu6Grad", relu6_grad},
    {"ReluGrad", relu_grad},
    {"RsqrtGrad", rsqrt_grad},
    {"SigmoidGrad", sigmoid_grad},
    {"SoftmaxCrossEntropyWithLogits", softmax_cross_entropy},
    {"SoftplusGrad", softplus_grad},
    {"SoftsignGrad", softsign_grad},
    {"SqrtGrad", sqrt_grad},
    {"TanhGrad", tanh_grad},
};

}  // namespace

std::span<const TranslationRow> gradient_translations() { return gradient_rows; }

}  // namespace intarsia
