// Steps of the optimizers of ai.onnx.preview.training: Adagrad, Adam, Momentum.
#include <cmath>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {
namespace {

// Parameters of a step. Inputs are R, T, then n tensors X, their n gradients G and n of each accumulated
// value; outputs are n new X and n of each new accumulated value.
struct Step {
  double rate = 0;    // R
  int64_t count = 0;  // T
  double norm = 0;    // norm_coefficient
};

Result<Step> read_step(const KernelContext& context) {
  TRY(require_number(context, 0));
  TRY(require_inputs(context, 2));
  if (element_count(context.input(0).shape) != 1) return fail("the learning rate is not a scalar");
  const std::vector<int64_t> counts = TRY(context.input_ints(1));
  if (counts.size() != 1) return fail("the update count is not a scalar");
  return Step{ReadAs<double>(context.input(0))[0], counts[0],
              context.attributes().get_float("norm_coefficient", 0)};
}

// Calls update(x, g, values), which changes x and the accumulated values of one element.
template <size_t accumulated, typename F>
Status update_all(KernelContext& context, const Step& step, F update) {
  constexpr size_t kinds = accumulated + 2;
  const size_t count = (context.input_count() - 2) / kinds;
  if (count * kinds + 2 != context.input_count())
    return fail("{} inputs are not 2 and a multiple of {}", context.input_count(), kinds);
  for (size_t k = 0; k < count; ++k) {
    std::array<std::vector<double>, kinds> values;  // x, g, accumulated
    TRY(require_number(context, 2 + k));
    const Shape& shape = context.input(2 + k).shape;
    for (size_t kind = 0; kind < kinds; ++kind) {
      const size_t input = 2 + kind * count + k;
      TRY(require_number(context, input));
      TRY(require_shape(context, input, shape));
      ReadAs<double> in(context.input(input));
      values[kind].assign(in.begin(), in.end());
    }
    for (size_t i = 0; i < values[0].size(); ++i) {
      std::array<double, accumulated> state;
      for (size_t a = 0; a < accumulated; ++a) state[a] = values[2 + a][i];
      update(values[0][i], values[1][i] + step.norm * values[0][i], state);
      for (size_t a = 0; a < accumulated; ++a) values[2 + a][i] = state[a];
    }
    for (size_t out = 0; out <= accumulated; ++out) {
      const size_t source = out == 0 ? 0 : out + 1;
      const size_t output = out * count + k;
      if (!context.wants_output(output)) continue;
      const DType dtype = context.input(2 + source * count + k).dtype;
      write_numbers(values[source].data(), TRY(context.output(output, dtype, shape)));
    }
  }
  return {};
}

Status run_adagrad(KernelContext& context) {
  const Step step = TRY(read_step(context));
  const double epsilon = context.attributes().get_float("epsilon", 1e-6f);
  const double decay = context.attributes().get_float("decay_factor", 0);
  const double rate = step.rate / (1 + static_cast<double>(step.count) * decay);
  return update_all<1>(context, step, [=](double& x, double g, std::array<double, 1>& state) {
    state[0] += g * g;
    x -= rate * g / (std::sqrt(state[0]) + epsilon);
  });
}

Status run_adam(KernelContext& context) {
  const Step step = TRY(read_step(context));
  const Attributes& attributes = context.attributes();
  const double alpha = attributes.get_float("alpha", 0.9f);
  const double beta = attributes.get_float("beta", 0.999f);
  const double epsilon = attributes.get_float("epsilon", 1e-6f);
  const double post = attributes.get_float("norm_coefficient_post", 0);
  const auto t = static_cast<double>(step.count);
  const double rate =
      step.count > 0 ? step.rate * std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t)) : step.rate;
  return update_all<2>(context, step, [=](double& x, double g, std::array<double, 2>& state) {
    state[0] = alpha * state[0] + (1 - alpha) * g;
    state[1] = beta * state[1] + (1 - beta) * g * g;
    x = (1 - post) * (x - rate * state[0] / (std::sqrt(state[1]) + epsilon));
  });
}

Status run_momentum(KernelContext& context) {
  const Step step = TRY(read_step(context));
  const double alpha = context.attributes().get_float("alpha", 0);
  const double beta = step.count > 0 ? context.attributes().get_float("beta", 1) : 1.0;
  const std::string mode = context.attributes().get_string("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    return fail("attribute mode is '{}', want standard or nesterov", mode);
  const bool nesterov = mode == "nesterov";
  return update_all<1>(context, step, [=](double& x, double g, std::array<double, 1>& state) {
    state[0] = alpha * state[0] + beta * g;
    x -= step.rate * (nesterov ? g + alpha * state[0] : state[0]);
  });
}

}  // namespace

std::span<const KernelEntry> training_kernels() {
  static const KernelEntry entries[] = {
      {"Adagrad", "ai.onnx.preview.training", run_adagrad},
      {"Adam", "ai.onnx.preview.training", run_adam},
      {"Momentum", "ai.onnx.preview.training", run_momentum},
  };
  return entries;
}

}  // namespace intarsia::reference
