// Attention and FlexAttention (without modifier subgraphs): softmax(q k^T * scale + bias) v, computed in
// double.
#include <cmath>
#include <limits>

#include "backends/reference/kernels/attention.h"
#include "backends/reference/kernels/dispatch.h"

namespace intarsia::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct AttentionShape {
  int64_t batch = 0;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  int64_t q_steps = 0;
  int64_t kv_steps = 0;  // new steps
  int64_t past = 0;
  int64_t size = 0;     // elements of a head of q and k
  int64_t v_size = 0;   // elements of a head of v
  bool packed = false;  // batch x steps x (heads * size) instead of batch x heads x steps x size

  int64_t total() const { return past + kv_steps; }
};

// Reads the sizes: q, k and v agree in batch, k and v in steps and heads, and q's heads are a multiple of
// those.
Result<AttentionShape> attention_shape(const KernelContext& context) {
  for (size_t i = 0; i < 3; ++i) TRY(require_number(context, i));
  const Shape& q = context.input(0).shape;
  const Shape& k = context.input(1).shape;
  const Shape& v = context.input(2).shape;
  if ((q.size() != 3 && q.size() != 4) || k.size() != q.size() || v.size() != q.size()) {
    return fail("Q, K, V have shapes {}, {}, {}; want all of rank 3 or 4", print_shape(q), print_shape(k),
                print_shape(v));
  }
  AttentionShape shape;
  shape.packed = q.size() == 3;
  shape.q_heads = shape.packed ? context.attributes().get_int("q_num_heads", 0) : q[1];
  shape.kv_heads = shape.packed ? context.attributes().get_int("kv_num_heads", 0) : k[1];
  if (shape.q_heads <= 0 || shape.kv_heads <= 0 || shape.q_heads > max_heads ||
      shape.q_heads % shape.kv_heads != 0) {
    return fail("{} heads of q are not a multiple of {} heads of k and v", shape.q_heads, shape.kv_heads);
  }
  shape.batch = q[0];
  shape.q_steps = q[shape.packed ? 1 : 2];
  shape.kv_steps = k[shape.packed ? 1 : 2];
  shape.size = shape.packed ? q[2] / shape.q_heads : q[3];
  shape.v_size = shape.packed ? v[2] / shape.kv_heads : v[3];
  auto want = [&](int64_t heads, int64_t steps, int64_t size) {
    return shape.packed ? Shape{shape.batch, steps, heads * size} : Shape{shape.batch, heads, steps, size};
  };
  TRY(require_shape(context, 0, want(shape.q_heads, shape.q_steps, shape.size)));
  TRY(require_shape(context, 1, want(shape.kv_heads, shape.kv_steps, shape.size)));
  TRY(require_shape(context, 2, want(shape.kv_heads, shape.kv_steps, shape.v_size)));
  return shape;
}

// Reads a tensor as batch x heads x steps x size.
std::vector<double> read_heads(const ConstTensorView& view, bool packed, int64_t heads, int64_t steps,
                               int64_t size) {
  ReadAs<double> in(view);
  std::vector<double> result(in.begin(), in.end());
  if (!packed) return result;
  for (int64_t i = 0; i < in.size(); ++i) {
    const int64_t d = i % size;
    const int64_t h = i / size % heads;
    const int64_t t = i / size / heads % steps;
    const int64_t n = i / size / heads / steps;
    result[static_cast<size_t>(((n * heads + h) * steps + t) * size + d)] = in[i];
  }
  return result;
}

// Returns keys or values of the past, then the new ones, as batch x heads x total x size.
Result<std::vector<double>> read_cached(const KernelContext& context, const AttentionShape& shape,
                                        size_t input, size_t past_input, int64_t size) {
  std::vector<double> fresh =
      read_heads(context.input(input), shape.packed, shape.kv_heads, shape.kv_steps, size);
  if (!context.has_input(past_input)) return fresh;
  TRY(require_number(context, past_input));
  TRY(require_shape(context, past_input, {shape.batch, shape.kv_heads, shape.past, size}));
  ReadAs<double> past(context.input(past_input));
  std::vector<double> result;
  result.reserve(fresh.size() + static_cast<size_t>(past.size()));
  for (int64_t g = 0; g < shape.batch * shape.kv_heads; ++g) {
    result.insert(result.end(), past.data() + g * shape.past * size,
                  past.data() + (g + 1) * shape.past * size);
    const double* row = fresh.data() + g * shape.kv_steps * size;
    result.insert(result.end(), row, row + shape.kv_steps * size);
  }
  return result;
}

// Additive bias of a score: mask, causality, window and padding together; -inf is disallowed.
class Bias {
 public:
  static Result<Bias> read(const KernelContext& context, const AttentionShape& shape) {
    Bias bias;
    bias.causal_ = context.attributes().get_int("is_causal", 0) != 0;
    bias.left_ = context.attributes().get_int("left_window_size", -1);
    bias.right_ = context.attributes().get_int("right_window_size", -1);
    if (bias.left_ < -1 || bias.right_ < -1)
      return fail("window sizes {} and {}, want -1 or more", bias.left_, bias.right_);
    bias.offsets_.assign(static_cast<size_t>(shape.batch), shape.past);
    bias.lengths_.assign(static_cast<size_t>(shape.batch), shape.total());
    if (context.has_input(6)) {
      TRY(require_shape(context, 6, {shape.batch}));
      bias.lengths_ = TRY(context.input_ints(6));
      for (size_t n = 0; n < bias.lengths_.size(); ++n) {
        if (bias.lengths_[n] < 0 || bias.lengths_[n] > shape.total())
          return fail("nonpad_kv_seqlen holds {}", bias.lengths_[n]);
        if (!context.has_input(4)) bias.offsets_[n] = bias.lengths_[n] - shape.q_steps;
      }
    }
    if (context.has_input(3)) TRY(bias.read_mask(context, shape));
    return bias;
  }

  double at(int64_t n, int64_t h, int64_t i, int64_t j) const {
    const int64_t position = i + offsets_[static_cast<size_t>(n)];
    if (causal_ && j > position) return -infinity;
    if (left_ >= 0 && position - j > left_) return -infinity;
    if (right_ >= 0 && j - position > right_) return -infinity;
    if (j >= lengths_[static_cast<size_t>(n)]) return -infinity;
    if (mask_.empty()) return 0;
    if (j >= mask_steps_) return -infinity;
    return mask_[static_cast<size_t>(n * strides_[0] + h * strides_[1] + i * strides_[2] + j * strides_[3])];
  }

 private:
  // Reads the mask. A mask shorter than the keys disallows those beyond it.
  Status read_mask(const KernelContext& context, const AttentionShape& shape) {
    TRY(require_number(context, 3));
    const ConstTensorView& mask = context.input(3);
    mask_steps_ = mask.shape.empty() ? shape.total() : mask.shape.back();
    const Shape full = {shape.batch, shape.q_heads, shape.q_steps, mask_steps_};
    if (mask_steps_ > shape.total() || TRY(broadcast_shapes(mask.shape, full)) != full) {
      return fail("attn_mask has shape {}, want one that broadcasts to {}x{}x{}x{}", print_shape(mask.shape),
                  shape.batch, shape.q_heads, shape.q_steps, shape.total());
    }
    strides_ = broadcast_strides(mask.shape, full);
    ReadAs<double> values(mask);
    mask_.assign(values.begin(), values.end());
    if (mask.dtype == DType::boolean) {
      for (double& value : mask_) value = value != 0 ? 0 : -infinity;
    }
    if (mask_.empty()) mask_steps_ = 0, mask_.push_back(0);
    return {};
  }

  bool causal_ = false;
  int64_t left_ = -1;
  int64_t right_ = -1;
  std::vector<int64_t> offsets_;  // keys before the first query, by batch
  std::vector<int64_t> lengths_;  // keys that are not padding, by batch
  std::vector<double> mask_;
  Shape strides_;
  int64_t mask_steps_ = 0;
};

struct Settings {
  double scale = 1;
  double softcap = 0;
  bool shows = false;  // whether the fourth output is wanted; output_mode says what it shows
  int64_t output_mode = 0;

  bool shows_mode(int64_t mode) const { return shows && output_mode == mode; }
};

Settings read_settings(const KernelContext& context, const AttentionShape& shape) {
  Settings settings;
  settings.scale = context.attributes().has("scale")
                       ? static_cast<double>(context.attributes().get_float("scale", 1))
                       : 1 / std::sqrt(static_cast<double>(shape.size));
  settings.softcap = context.attributes().get_float("softcap", 0);
  settings.shows = context.wants_output(3);
  settings.output_mode = context.attributes().get_int("qk_matmul_output_mode", 0);
  return settings;
}

// Turns scores into probabilities; a row without any allowed key becomes zeros.
void softmax(std::vector<double>& scores, bool disallowed) {
  double largest = -infinity;
  for (double score : scores) largest = std::max(largest, score);
  if (disallowed || largest == -infinity) return void(std::ranges::fill(scores, 0.0));
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
}

// Computes one query: `scores` receives its probabilities, `shown` what the fourth output shows of it.
void attend(const double* q, const double* keys, const AttentionShape& shape, const Settings& settings,
            const Bias& bias, int64_t n, int64_t h, int64_t i, std::vector<double>& scores, double* shown) {
  bool disallowed = true;
  for (int64_t j = 0; j < shape.total(); ++j) {
    double score = 0;
    for (int64_t d = 0; d < shape.size; ++d) score += q[d] * keys[j * shape.size + d];
    score *= settings.scale;
    if (settings.shows_mode(0)) shown[j] = score;
    if (settings.softcap > 0) score = settings.softcap * std::tanh(score / settings.softcap);
    if (settings.shows_mode(1)) shown[j] = score;
    const double added = bias.at(n, h, i, j);
    disallowed = disallowed && added == -infinity;
    score += added;
    if (settings.shows_mode(2)) shown[j] = score;
    scores[static_cast<size_t>(j)] = score;
  }
  softmax(scores, disallowed);
  if (settings.shows_mode(3)) std::ranges::copy(scores, shown);
}

struct AttentionResult {
  std::vector<double> y;      // result in the layout of the output
  std::vector<double> shown;  // batch x heads x q steps x total where it is wanted, else empty
};

AttentionResult compute(const AttentionShape& shape, const Settings& settings, const Bias& bias,
                        const std::vector<double>& q, const std::vector<double>& k,
                        const std::vector<double>& v) {
  AttentionResult result;
  const int64_t queries = shape.batch * shape.q_heads * shape.q_steps;
  result.y.assign(static_cast<size_t>(queries * shape.v_size), 0.0);
  if (settings.shows) result.shown.resize(static_cast<size_t>(queries * shape.total()));
  std::vector<double> scores(static_cast<size_t>(shape.total()));
  for (int64_t row = 0; row < queries; ++row) {
    const int64_t i = row % shape.q_steps;
    const int64_t h = row / shape.q_steps % shape.q_heads;
    const int64_t n = row / shape.q_steps / shape.q_heads;
    const int64_t kv = (n * shape.kv_heads + h / (shape.q_heads / shape.kv_heads)) * shape.total();
    attend(q.data() + row * shape.size, k.data() + kv * shape.size, shape, settings, bias, n, h, i, scores,
           settings.shows ? result.shown.data() + row * shape.total() : nullptr);
    double* out =
        result.y.data() + (shape.packed ? (n * shape.q_steps + i) * shape.q_heads + h : row) * shape.v_size;
    for (int64_t j = 0; j < shape.total(); ++j) {
      const double weight = scores[static_cast<size_t>(j)];
      // A disallowed key adds nothing, even if its value is NaN.
      for (int64_t d = 0; d < shape.v_size && weight != 0; ++d)
        out[d] += weight * v[static_cast<size_t>((kv + j) * shape.v_size + d)];
    }
  }
  return result;
}

Status write_output(KernelContext& context, size_t output, DType dtype, const Shape& shape,
                    const std::vector<double>& values) {
  if (context.wants_output(output)) write_numbers(values.data(), TRY(context.output(output, dtype, shape)));
  return {};
}

Status run_with_bias(KernelContext& context, const AttentionShape& shape, const Bias& bias) {
  // Sizes of the scratch memory: a zero among them must not hide that the others are absurd.
  TRY(checked_elements({shape.batch, shape.q_heads, shape.q_steps}));
  TRY(checked_elements({shape.batch, shape.q_heads, shape.q_steps, shape.total()}));
  TRY(checked_elements({shape.batch, shape.q_heads, shape.q_steps, shape.v_size}));
  const std::vector<double> q =
      read_heads(context.input(0), shape.packed, shape.q_heads, shape.q_steps, shape.size);
  const std::vector<double> k = TRY(read_cached(context, shape, 1, 4, shape.size));
  const std::vector<double> v = TRY(read_cached(context, shape, 2, 5, shape.v_size));
  const AttentionResult result = compute(shape, read_settings(context, shape), bias, q, k, v);
  const DType dtype = context.input(0).dtype;
  const Shape y = shape.packed ? Shape{shape.batch, shape.q_steps, shape.q_heads * shape.v_size}
                               : Shape{shape.batch, shape.q_heads, shape.q_steps, shape.v_size};
  TRY(write_output(context, 0, dtype, y, result.y));
  TRY(write_output(context, 1, context.input(1).dtype,
                   {shape.batch, shape.kv_heads, shape.total(), shape.size}, k));
  TRY(write_output(context, 2, context.input(2).dtype,
                   {shape.batch, shape.kv_heads, shape.total(), shape.v_size}, v));
  return write_output(context, 3, dtype, {shape.batch, shape.q_heads, shape.q_steps, shape.total()},
                      result.shown);
}

Status run_attention(KernelContext& context) {
  AttentionShape shape = TRY(attention_shape(context));
  if (context.has_input(4) != context.has_input(5)) return fail("past_key and past_value go together");
  if (context.has_input(4)) {
    if (context.input(4).shape.size() != 4)
      return fail("past_key has shape {}", print_shape(context.input(4).shape));
    shape.past = context.input(4).shape[2];
  }
  return run_with_bias(context, shape, TRY(Bias::read(context, shape)));
}

Status run_flex_attention(KernelContext& context) {
  if (context.attributes().has("score_mod") || context.attributes().has("prob_mod")) {
    return fail("FlexAttention with a modifier subgraph is not supported");
  }
  const AttentionShape shape = TRY(attention_shape(context));
  if (shape.packed) return fail("Q has rank 3, want 4");
  return run_with_bias(context, shape, TRY(Bias::read(context, shape)));
}

}  // namespace

std::span<const KernelEntry> scaled_attention_kernels() {
  static const KernelEntry entries[] = {
      {"Attention", "", run_attention},
      {"FlexAttention", "ai.onnx.preview", run_flex_attention},
  };
  return entries;
}

}  // namespace intarsia::reference
