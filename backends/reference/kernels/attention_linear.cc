// LinearAttention: a recurrence over the tokens of a sequence with a carried state.
#include <cmath>

#include "backends/reference/kernels/attention.h"
#include "backends/reference/kernels/dispatch.h"

namespace intarsia::reference {
namespace {

struct LinearShape {
  int64_t batch = 0;
  int64_t steps = 0;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  int64_t k_size = 0;
  int64_t v_size = 0;
  int64_t decay_size = 0;  // 1: one number per head; k_size: one per element of its keys
  int64_t beta_heads = 0;  // 1 or kv_heads
  bool gated = false;
  bool delta = false;
};

Status read_rule(const KernelContext& context, LinearShape& shape) {
  const std::string rule = context.attributes().get_string("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") {
    return fail("attribute update_rule is '{}', want linear, gated, delta or gated_delta", rule);
  }
  shape.gated = rule.starts_with("gated");
  shape.delta = rule.ends_with("delta");
  if (shape.gated != context.has_input(4))
    return fail("update_rule '{}' and the input decay do not fit", rule);
  if (shape.delta != context.has_input(5))
    return fail("update_rule '{}' and the input beta do not fit", rule);
  return {};
}

Status read_gates(const KernelContext& context, LinearShape& shape) {
  if (shape.gated) {
    TRY(require_number(context, 4));
    const Shape& decay = context.input(4).shape;
    shape.decay_size = !decay.empty() && decay.back() == shape.kv_heads ? 1 : shape.k_size;
    TRY(require_shape(context, 4, {shape.batch, shape.steps, shape.kv_heads * shape.decay_size}));
  }
  if (shape.delta) {
    TRY(require_number(context, 5));
    const Shape& beta = context.input(5).shape;
    shape.beta_heads = !beta.empty() && beta.back() == 1 ? 1 : shape.kv_heads;
    TRY(require_shape(context, 5, {shape.batch, shape.steps, shape.beta_heads}));
  }
  return {};
}

Result<LinearShape> linear_shape(const KernelContext& context) {
  for (size_t i = 0; i < 3; ++i) {
    TRY(require_number(context, i));
    if (context.input(i).shape.size() != 3)
      return fail("input {} has shape {}, want rank 3", i, print_shape(context.input(i).shape));
  }
  const Shape& q = context.input(0).shape;
  LinearShape shape;
  shape.batch = q[0];
  shape.steps = q[1];
  shape.q_heads = context.attributes().get_int("q_num_heads", 0);
  shape.kv_heads = context.attributes().get_int("kv_num_heads", 0);
  if (shape.q_heads <= 0 || shape.kv_heads <= 0 || shape.q_heads > max_heads ||
      shape.q_heads % shape.kv_heads != 0) {
    return fail("{} heads of q are not a multiple of {} heads of k and v", shape.q_heads, shape.kv_heads);
  }
  shape.k_size = q[2] / shape.q_heads;
  shape.v_size = context.input(2).shape[2] / shape.kv_heads;
  if (q[2] % shape.q_heads != 0) return fail("{} heads do not divide {}", shape.q_heads, q[2]);
  TRY(require_shape(context, 1, {shape.batch, shape.steps, shape.kv_heads * shape.k_size}));
  TRY(require_shape(context, 2, {shape.batch, shape.steps, shape.kv_heads * shape.v_size}));
  TRY(read_rule(context, shape));
  TRY(read_gates(context, shape));
  return shape;
}

// Updates the state S, which is k_size x v_size: S decays, then S += beta * k (v - S^T k) or S += k v.
void update_state(double* state, const double* key, const double* value, const double* decay, double beta,
                  const LinearShape& shape) {
  if (decay != nullptr) {
    for (int64_t i = 0; i < shape.k_size; ++i) {
      const double factor = std::exp(decay[shape.decay_size == 1 ? 0 : i]);
      for (int64_t j = 0; j < shape.v_size; ++j) state[i * shape.v_size + j] *= factor;
    }
  }
  for (int64_t j = 0; j < shape.v_size; ++j) {
    double added = value[j];
    if (shape.delta) {
      double known = 0;
      for (int64_t i = 0; i < shape.k_size; ++i) known += state[i * shape.v_size + j] * key[i];
      added = beta * (added - known);
    }
    for (int64_t i = 0; i < shape.k_size; ++i) state[i * shape.v_size + j] += key[i] * added;
  }
}

struct LinearInputs {
  ReadAs<double> q, k, v;
  std::optional<ReadAs<double>> decay, beta;
  double scale = 1;
};

LinearInputs read_linear_inputs(const KernelContext& context, const LinearShape& shape) {
  LinearInputs inputs{ReadAs<double>(context.input(0)), ReadAs<double>(context.input(1)),
                      ReadAs<double>(context.input(2))};
  if (shape.gated) inputs.decay.emplace(context.input(4));
  if (shape.delta) inputs.beta.emplace(context.input(5));
  inputs.scale = context.attributes().get_float("scale", 0);
  if (inputs.scale == 0) inputs.scale = 1 / std::sqrt(static_cast<double>(shape.k_size));
  return inputs;
}

// Computes all tokens of one head of k and v of one sequence; `y` is the whole output.
void run_head(const LinearInputs& inputs, const LinearShape& shape, int64_t n, int64_t h, double* state,
              double* y) {
  const int64_t group = shape.q_heads / shape.kv_heads;
  for (int64_t t = 0; t < shape.steps; ++t) {
    const int64_t token = n * shape.steps + t;
    const int64_t head = token * shape.kv_heads + h;
    const double* decay = inputs.decay ? inputs.decay->data() + head * shape.decay_size : nullptr;
    const double beta =
        inputs.beta ? (*inputs.beta)[token * shape.beta_heads + (shape.beta_heads == 1 ? 0 : h)] : 1;
    update_state(state, inputs.k.data() + head * shape.k_size, inputs.v.data() + head * shape.v_size, decay,
                 beta, shape);
    for (int64_t g = h * group; g < (h + 1) * group; ++g) {
      const double* query = inputs.q.data() + (token * shape.q_heads + g) * shape.k_size;
      double* out = y + (token * shape.q_heads + g) * shape.v_size;
      for (int64_t j = 0; j < shape.v_size; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < shape.k_size; ++i) sum += query[i] * state[i * shape.v_size + j];
        out[j] = inputs.scale * sum;
      }
    }
  }
}

Status run_linear_attention(KernelContext& context) {
  const LinearShape shape = TRY(linear_shape(context));
  const LinearInputs inputs = read_linear_inputs(context, shape);
  const Shape state_shape = {shape.batch, shape.kv_heads, shape.k_size, shape.v_size};
  std::vector<double> state(static_cast<size_t>(TRY(checked_elements(state_shape))), 0.0);
  DType state_dtype = context.input(0).dtype;
  if (context.has_input(3)) {
    TRY(require_number(context, 3));
    TRY(require_shape(context, 3, state_shape));
    read_numbers(context.input(3), state.data());
    state_dtype = context.input(3).dtype;
  }
  const Shape y_shape = {shape.batch, shape.steps, shape.q_heads * shape.v_size};
  std::vector<double> y(static_cast<size_t>(TRY(checked_elements(y_shape))));
  for (int64_t i = 0; i < shape.batch * shape.kv_heads; ++i) {
    run_head(inputs, shape, i / shape.kv_heads, i % shape.kv_heads,
             state.data() + i * shape.k_size * shape.v_size, y.data());
  }
  if (context.wants_output(0))
    write_numbers(y.data(), TRY(context.output(0, context.input(0).dtype, y_shape)));
  if (context.wants_output(1)) write_numbers(state.data(), TRY(context.output(1, state_dtype, state_shape)));
  return {};
}

}  // namespace

std::span<const KernelEntry> linear_attention_kernels() {
  static const KernelEntry entries[] = {
      {"LinearAttention", "", run_linear_attention},
  };
  return entries;
}

}  // namespace intarsia::reference
