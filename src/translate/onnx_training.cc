// Steps of the optimizers of ai.onnx.preview.training: elementwise operators for each tensor.
#include "translate/rules.h"

namespace intarsia {
namespace {

constexpr std::string_view domain = "ai.onnx.preview.training";

/// Adds elementwise operators on values of one type.
class Formula {
 public:
  Formula(Translation& t, DType dtype) : t_(t), dtype_(dtype) {}

  ValueId number(double value) { return t_.make_scalar(dtype_, value); }
  ValueId input(size_t i) { return t_.dtype(i) == dtype_ ? t_.input(i) : t_.cast(t_.input(i), dtype_); }
  ValueId add(ValueId a, ValueId b) { return t_.make("Add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return t_.make("Sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return t_.make("Mul", {a, b}); }
  ValueId mul(double a, ValueId b) { return a == 1 ? b : mul(b, number(a)); }
  ValueId div(ValueId a, ValueId b) { return t_.make("Div", {a, b}); }
  ValueId sqrt(ValueId a) { return t_.make("Sqrt", {a}); }
  ValueId pow(double base, ValueId exponent) { return t_.make("Pow", {number(base), exponent}); }
  /// Returns `yes` where the update count (input 1) is above 0, else `no`.
  ValueId after_first(ValueId yes, ValueId no) {
    return t_.make("Where", {t_.make("Greater", {t_.input(1), t_.make_scalar(t_.dtype(1), 0)}), yes, no});
  }

 private:
  Translation& t_;
  DType dtype_;
};

/// One tensor of a step: its value, its gradient with the regularization, and what is accumulated.
struct Tensors {
  ValueId x, gradient;
  std::vector<ValueId> state;
};

/// Calls update(formula, tensors), which changes the value and the state, for each tensor. Inputs are R, T,
/// then n tensors, n gradients and n of each accumulated value; outputs are n tensors and n of each
/// accumulated value.
template <typename Update>
Status update_all(Translation& t, size_t accumulated, Update update) {
  if (t.input_count() < 2 || (t.input_count() - 2) % (accumulated + 2) != 0)
    return fail("{} inputs", t.input_count());
  for (size_t i : {0, 1})
    for (const Dim& size : TRY(t.sizes(i)))
      if (size != 1) return fail("a rate or count that is not a scalar");
  const size_t count = (t.input_count() - 2) / (accumulated + 2);
  const float norm = t.attributes().get_float("norm_coefficient", 0);
  for (size_t k = 0; k < count; ++k) {
    const DType dtype = computed_type(t.dtype(2 + k));
    Formula f(t, dtype);
    Tensors one{f.input(2 + k), f.input(2 + count + k), {}};
    if (norm != 0) one.gradient = f.add(one.gradient, f.mul(norm, one.x));
    for (size_t a = 0; a < accumulated; ++a) one.state.push_back(f.input(2 + (2 + a) * count + k));
    update(f, one);
    const auto give = [&](size_t output, size_t input, ValueId value) {
      t.give(output, t.dtype(input) == dtype ? value : t.cast(value, t.dtype(input)));
    };
    give(k, 2 + k, one.x);
    for (size_t a = 0; a < accumulated; ++a) give((1 + a) * count + k, 2 + (2 + a) * count + k, one.state[a]);
  }
  return {};
}

/// Duchi and others, "Adaptive Subgradient Methods", 2011.
Status adagrad(Translation& t) {
  const float epsilon = t.attributes().get_float("epsilon", 1e-6f),
              decay = t.attributes().get_float("decay_factor", 0);
  return update_all(t, 1, [&](Formula& f, Tensors& one) {
    const ValueId rate = f.div(f.input(0), f.add(f.number(1), f.mul(decay, f.input(1))));
    one.state[0] = f.add(one.state[0], f.mul(one.gradient, one.gradient));
    const ValueId divisor = f.add(f.sqrt(one.state[0]), f.number(epsilon));
    one.x = f.sub(one.x, f.div(f.mul(one.gradient, rate), divisor));
  });
}

/// Kingma and Ba, "Adam", 2014.
Status adam(Translation& t) {
  const Attributes& a = t.attributes();
  const double alpha = a.get_float("alpha", 0.9f), beta = a.get_float("beta", 0.999f);
  const float epsilon = a.get_float("epsilon", 1e-6f), post = a.get_float("norm_coefficient_post", 0);
  return update_all(t, 2, [&](Formula& f, Tensors& one) {
    const auto missing = [&](double base) { return f.sub(f.number(1), f.pow(base, f.input(1))); };
    const ValueId corrected = f.div(f.mul(f.input(0), f.sqrt(missing(beta))), missing(alpha));
    const ValueId rate = f.after_first(corrected, f.input(0));
    one.state[0] = f.add(f.mul(alpha, one.state[0]), f.mul(1 - alpha, one.gradient));
    one.state[1] = f.add(f.mul(beta, one.state[1]), f.mul(1 - beta, f.mul(one.gradient, one.gradient)));
    const ValueId divisor = f.add(f.sqrt(one.state[1]), f.number(epsilon));
    one.x = f.mul(1 - static_cast<double>(post), f.sub(one.x, f.div(f.mul(one.state[0], rate), divisor)));
  });
}

/// Standard and Nesterov's momentum (Sutskever and others, "On the importance of initialization and
/// momentum", 2013).
Status momentum(Translation& t) {
  const float alpha = t.attributes().get_float("alpha", 0), beta = t.attributes().get_float("beta", 1);
  const std::string mode = t.attributes().get_string("mode", "standard");
  if (mode != "standard" && mode != "nesterov") return fail("attribute mode is '{}'", mode);
  return update_all(t, 1, [&](Formula& f, Tensors& one) {
    const ValueId factor = f.after_first(f.number(beta), f.number(1));
    one.state[0] = f.add(f.mul(alpha, one.state[0]), f.mul(one.gradient, factor));
    const ValueId step = mode == "nesterov" ? f.add(one.gradient, f.mul(alpha, one.state[0])) : one.state[0];
    one.x = f.sub(one.x, f.mul(step, f.input(0)));
  });
}

constexpr TranslationRow training_rows[] = {
    {"Adagrad", adagrad, domain},
    {"Adam", adam, domain},
    {"Momentum", momentum, domain},
};

}  // namespace

std::span<const TranslationRow> training_decompositions() { return training_rows; }

}  // namespace intarsia
