// RNN, GRU and LSTM, computed in double, one sequence of the batch after the other.
#include <cctype>
#include <cmath>
#include <functional>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {
namespace {

using Activation = std::function<double(double)>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Scaling values, consumed in order by the functions that take one.
class ScalingValues {
 public:
  explicit ScalingValues(std::vector<float> values) : values_(std::move(values)) {}
  double next(double otherwise) {
    return at_ < values_.size() ? static_cast<double>(values_[at_++]) : otherwise;
  }

 private:
  std::vector<float> values_;
  size_t at_ = 0;
};

Result<Activation> make_activation(std::string name, ScalingValues& alphas, ScalingValues& betas) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  Activation f;
  if (name == "relu") f = [](double x) { return std::max(x, 0.0); };
  if (name == "tanh") f = [](double x) { return std::tanh(x); };
  if (name == "sigmoid") f = sigmoid;
  if (name == "softsign") f = [](double x) { return x / (1 + std::fabs(x)); };
  if (name == "softplus") f = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); };
  if (name == "affine") f = [a = alphas.next(1), b = betas.next(0)](double x) { return a * x + b; };
  if (name == "leakyrelu") f = [a = alphas.next(0.01)](double x) { return x < 0 ? a * x : x; };
  if (name == "thresholdedrelu") f = [a = alphas.next(1)](double x) { return x > a ? x : 0.0; };
  if (name == "scaledtanh")
    f = [a = alphas.next(1), b = betas.next(1)](double x) { return a * std::tanh(b * x); };
  if (name == "elu") f = [a = alphas.next(1)](double x) { return x < 0 ? a * std::expm1(x) : x; };
  if (name == "hardsigmoid") {
    f = [a = alphas.next(0.2), b = betas.next(0.5)](double x) {
      return std::max(0.0, std::min(1.0, a * x + b));
    };
  }
  if (!f) return fail("attribute activations holds '{}'", name);
  return f;
}

struct Sizes {
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t input = 0;
  int64_t hidden = 0;
  int64_t directions = 1;
  int64_t gates = 1;
  bool batch_first = false;  // layout 1
};

// Direction of the operator. The weights of the gates are one after the other.
struct Direction {
  const double* w = nullptr;         // gates * hidden x input
  const double* r = nullptr;         // gates * hidden x hidden
  const double* peephole = nullptr;  // 3 * hidden for LSTM, or null
  std::vector<double> w_bias;        // gates * hidden
  std::vector<double> r_bias;
  std::vector<Activation> functions;
  double clip = 0;  // 0: no limit
  bool reverse = false;

  double limit(double x) const { return clip > 0 ? std::max(-clip, std::min(clip, x)) : x; }
};

using Vector = std::vector<double>;

// Computes bias + matrix * x for the rows first ... first + count - 1.
Vector transform(const double* matrix, const Vector& bias, const double* x, int64_t columns, int64_t first,
                 int64_t count) {
  Vector result(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    double sum = bias[static_cast<size_t>(first + i)];
    for (int64_t k = 0; k < columns; ++k) sum += matrix[(first + i) * columns + k] * x[k];
    result[static_cast<size_t>(i)] = sum;
  }
  return result;
}

struct State {
  Vector h;
  Vector c;  // LSTM only
};

using Step = void (*)(const Direction&, const Sizes&, const Attributes&, const double* x, State& state);

void step_rnn(const Direction& direction, const Sizes& sizes, const Attributes&, const double* x,
              State& state) {
  const Vector from_x = transform(direction.w, direction.w_bias, x, sizes.input, 0, sizes.hidden);
  const Vector from_h =
      transform(direction.r, direction.r_bias, state.h.data(), sizes.hidden, 0, sizes.hidden);
  for (size_t i = 0; i < state.h.size(); ++i)
    state.h[i] = direction.functions[0](direction.limit(from_x[i] + from_h[i]));
}

// Steps with the gates z (update), r (reset), h (hidden).
void step_gru(const Direction& direction, const Sizes& sizes, const Attributes& attributes, const double* x,
              State& state) {
  const int64_t hidden = sizes.hidden;
  const auto n = static_cast<size_t>(hidden);
  const Vector from_x = transform(direction.w, direction.w_bias, x, sizes.input, 0, 3 * hidden);
  const Vector from_h = transform(direction.r, direction.r_bias, state.h.data(), hidden, 0, 2 * hidden);
  Vector reset(n);
  for (size_t i = 0; i < n; ++i)
    reset[i] = direction.functions[0](direction.limit(from_x[n + i] + from_h[n + i]));
  const bool linear_first = attributes.get_int("linear_before_reset", 0) != 0;
  Vector seen = state.h;
  if (!linear_first) {
    for (size_t i = 0; i < n; ++i) seen[i] *= reset[i];
  }
  Vector candidate = transform(direction.r, direction.r_bias, seen.data(), hidden, 2 * hidden, hidden);
  for (size_t i = 0; i < n; ++i) {
    const double update = direction.functions[0](direction.limit(from_x[i] + from_h[i]));
    const double recurrent = linear_first ? reset[i] * candidate[i] : candidate[i];
    const double next = direction.functions[1](direction.limit(from_x[2 * n + i] + recurrent));
    state.h[i] = (1 - update) * next + update * state.h[i];
  }
}

// Steps with the gates i (input), o (output), f (forget), c (cell); peepholes i, o, f.
void step_lstm(const Direction& direction, const Sizes& sizes, const Attributes& attributes, const double* x,
               State& state) {
  const auto n = static_cast<size_t>(sizes.hidden);
  const Vector from_x = transform(direction.w, direction.w_bias, x, sizes.input, 0, 4 * sizes.hidden);
  const Vector from_h =
      transform(direction.r, direction.r_bias, state.h.data(), sizes.hidden, 0, 4 * sizes.hidden);
  const bool coupled = attributes.get_int("input_forget", 0) != 0;
  const auto& f = direction.functions;
  auto peep = [&](size_t gate, size_t i, double cell) {
    return direction.peephole != nullptr ? direction.peephole[gate * n + i] * cell : 0.0;
  };
  auto sum = [&](size_t gate, size_t i) { return from_x[gate * n + i] + from_h[gate * n + i]; };
  for (size_t i = 0; i < n; ++i) {
    const double before = state.c[i];
    const double in = f[0](direction.limit(sum(0, i) + peep(0, i, before)));
    const double forget = coupled ? 1 - in : f[0](direction.limit(sum(2, i) + peep(2, i, before)));
    const double candidate = f[1](direction.limit(sum(3, i)));
    state.c[i] = forget * before + in * candidate;
    const double out = f[0](direction.limit(sum(1, i) + peep(1, i, state.c[i])));
    state.h[i] = out * f[2](state.c[i]);
  }
}

Result<Sizes> read_sizes(const KernelContext& context, int64_t gates) {
  for (size_t i = 0; i < 3; ++i) {
    TRY(require_number(context, i));
    if (context.input(i).shape.size() != 3)
      return fail("input {} has shape {}, want rank 3", i, print_shape(context.input(i).shape));
  }
  const Shape& x = context.input(0).shape;
  Sizes sizes;
  sizes.gates = gates;
  sizes.batch_first = context.attributes().get_int("layout", 0) != 0;
  sizes.steps = x[sizes.batch_first ? 1 : 0];
  sizes.batch = x[sizes.batch_first ? 0 : 1];
  sizes.input = x[2];
  sizes.hidden = context.input(2).shape[2];
  const std::string direction = context.attributes().get_string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return fail("attribute direction is '{}'", direction);
  }
  sizes.directions = direction == "bidirectional" ? 2 : 1;
  const int64_t given = context.attributes().get_int("hidden_size", sizes.hidden);
  if (given != sizes.hidden) return fail("hidden_size is {}, the weights are for {}", given, sizes.hidden);
  TRY(checked_elements({sizes.steps, sizes.directions, sizes.batch, sizes.hidden}));
  TRY(require_shape(context, 1, {sizes.directions, gates * sizes.hidden, sizes.input}));
  TRY(require_shape(context, 2, {sizes.directions, gates * sizes.hidden, sizes.hidden}));
  return sizes;
}

// Inputs as double; omitted ones are zero.
struct Inputs {
  ReadAs<double> x, w, r;
  Vector bias, h, c, peephole;
  std::vector<int64_t> lengths;
};

Result<Vector> read_optional(const KernelContext& context, size_t input, const Shape& shape) {
  if (!context.has_input(input)) return Vector(static_cast<size_t>(element_count(shape)), 0.0);
  TRY(require_number(context, input));
  TRY(require_shape(context, input, shape));
  ReadAs<double> values(context.input(input));
  return Vector(values.begin(), values.end());
}

Result<Inputs> read_inputs(const KernelContext& context, const Sizes& sizes, bool lstm) {
  const int64_t d = sizes.directions;
  const Shape state =
      sizes.batch_first ? Shape{sizes.batch, d, sizes.hidden} : Shape{d, sizes.batch, sizes.hidden};
  Inputs inputs{ReadAs<double>(context.input(0)), ReadAs<double>(context.input(1)),
                ReadAs<double>(context.input(2))};
  inputs.bias = TRY(read_optional(context, 3, {d, 2 * sizes.gates * sizes.hidden}));
  inputs.lengths.assign(static_cast<size_t>(sizes.batch), sizes.steps);
  if (context.has_input(4)) {
    TRY(require_shape(context, 4, {sizes.batch}));
    inputs.lengths = TRY(context.input_ints(4));
    for (int64_t length : inputs.lengths) {
      if (length < 0 || length > sizes.steps)
        return fail("sequence length {} is not in 0 ... {}", length, sizes.steps);
    }
  }
  inputs.h = TRY(read_optional(context, 5, state));
  if (lstm) {
    inputs.c = TRY(read_optional(context, 6, state));
    inputs.peephole = TRY(read_optional(context, 7, {d, 3 * sizes.hidden}));
  }
  return inputs;
}

Result<std::vector<Direction>> make_directions(const KernelContext& context, const Sizes& sizes,
                                               const Inputs& inputs,
                                               const std::vector<std::string>& defaults) {
  const Attributes& attributes = context.attributes();
  std::vector<std::string> names = attributes.get_strings("activations");
  if (names.empty()) {
    for (int64_t d = 0; d < sizes.directions; ++d)
      names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != defaults.size() * static_cast<size_t>(sizes.directions)) {
    return fail("attribute activations has {} names, want {} a direction", names.size(), defaults.size());
  }
  ScalingValues alphas(attributes.get_floats("activation_alpha"));
  ScalingValues betas(attributes.get_floats("activation_beta"));
  const int64_t rows = sizes.gates * sizes.hidden;
  std::vector<Direction> directions(static_cast<size_t>(sizes.directions));
  for (size_t k = 0; k < directions.size(); ++k) {
    Direction& direction = directions[k];
    const auto d = static_cast<int64_t>(k);
    direction.w = inputs.w.data() + d * rows * sizes.input;
    direction.r = inputs.r.data() + d * rows * sizes.hidden;
    const double* bias = inputs.bias.data() + d * 2 * rows;
    direction.w_bias.assign(bias, bias + rows);
    direction.r_bias.assign(bias + rows, bias + 2 * rows);
    if (!inputs.peephole.empty()) direction.peephole = inputs.peephole.data() + d * 3 * sizes.hidden;
    direction.clip = attributes.get_float("clip", 0);
    direction.reverse = d == 1 || attributes.get_string("direction", "forward") == "reverse";
    for (size_t i = 0; i < defaults.size(); ++i) {
      direction.functions.push_back(TRY(make_activation(names[k * defaults.size() + i], alphas, betas)));
    }
  }
  return directions;
}

// Outputs as double. Y is zero after the end of a sequence; the last states are those at its end.
struct Outputs {
  Vector y, h, c;
};

int64_t state_offset(const Sizes& sizes, int64_t d, int64_t n) {
  return (sizes.batch_first ? n * sizes.directions + d : d * sizes.batch + n) * sizes.hidden;
}

void run_sequence(const Direction& direction, const Sizes& sizes, const Attributes& attributes, Step step,
                  const Inputs& inputs, int64_t d, int64_t n, Outputs& outputs) {
  const int64_t at = state_offset(sizes, d, n);
  auto slice = [&](const Vector& all) {
    return all.empty() ? Vector() : Vector(all.begin() + at, all.begin() + at + sizes.hidden);
  };
  State state{slice(inputs.h), slice(inputs.c)};
  const int64_t length = inputs.lengths[static_cast<size_t>(n)];
  for (int64_t s = 0; s < length; ++s) {
    const int64_t t = direction.reverse ? length - 1 - s : s;
    const int64_t row = sizes.batch_first ? n * sizes.steps + t : t * sizes.batch + n;
    step(direction, sizes, attributes, inputs.x.data() + row * sizes.input, state);
    const int64_t out = sizes.batch_first ? ((n * sizes.steps + t) * sizes.directions + d) * sizes.hidden
                                          : ((t * sizes.directions + d) * sizes.batch + n) * sizes.hidden;
    std::ranges::copy(state.h, outputs.y.begin() + out);
  }
  std::ranges::copy(state.h, outputs.h.begin() + at);
  if (!state.c.empty()) std::ranges::copy(state.c, outputs.c.begin() + at);
}

Status write_outputs(KernelContext& context, const Sizes& sizes, const Outputs& outputs) {
  const int64_t d = sizes.directions;
  const Shape y = sizes.batch_first ? Shape{sizes.batch, sizes.steps, d, sizes.hidden}
                                    : Shape{sizes.steps, d, sizes.batch, sizes.hidden};
  const Shape state =
      sizes.batch_first ? Shape{sizes.batch, d, sizes.hidden} : Shape{d, sizes.batch, sizes.hidden};
  const Vector* values[] = {&outputs.y, &outputs.h, &outputs.c};
  for (size_t i = 0; i < 3; ++i) {
    if (!context.wants_output(i)) continue;
    write_numbers(values[i]->data(), TRY(context.output(i, context.input(0).dtype, i == 0 ? y : state)));
  }
  return {};
}

Status run_recurrent(KernelContext& context, int64_t gates, const std::vector<std::string>& defaults,
                     Step step) {
  const bool lstm = gates == 4;
  const Sizes sizes = TRY(read_sizes(context, gates));
  const Inputs inputs = TRY(read_inputs(context, sizes, lstm));
  const std::vector<Direction> directions = TRY(make_directions(context, sizes, inputs, defaults));
  const auto states = static_cast<size_t>(sizes.directions * sizes.batch * sizes.hidden);
  Outputs outputs{Vector(states * static_cast<size_t>(sizes.steps)), Vector(states),
                  Vector(lstm ? states : 0)};
  for (int64_t d = 0; d < sizes.directions; ++d) {
    for (int64_t n = 0; n < sizes.batch; ++n) {
      run_sequence(directions[static_cast<size_t>(d)], sizes, context.attributes(), step, inputs, d, n,
                   outputs);
    }
  }
  return write_outputs(context, sizes, outputs);
}

Status run_rnn(KernelContext& context) { return run_recurrent(context, 1, {"Tanh"}, step_rnn); }
Status run_gru(KernelContext& context) { return run_recurrent(context, 3, {"Sigmoid", "Tanh"}, step_gru); }
Status run_lstm(KernelContext& context) {
  return run_recurrent(context, 4, {"Sigmoid", "Tanh", "Tanh"}, step_lstm);
}

}  // namespace

std::span<const KernelEntry> recurrent_kernels() {
  static const KernelEntry entries[] = {
      {"GRU", "", run_gru},
      {"LSTM", "", run_lstm},
      {"RNN", "", run_rnn},
  };
  return entries;
}

}  // namespace intarsia::reference
