// Normalizations by mean, variance or norm. All compute in double.
#include <cmath>

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/normalization.h"

namespace intarsia::reference {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;  // population variance
};

// Returns the moments of `count` elements at(0) ... at(count - 1).
template <typename At>
Moments moments_of(int64_t count, At at) {
  Moments moments;
  if (count == 0) return moments;
  for (int64_t i = 0; i < count; ++i) moments.mean += at(i);
  moments.mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    const double distance = at(i) - moments.mean;
    moments.variance += distance * distance;
  }
  moments.variance /= static_cast<double>(count);
  return moments;
}

// Sizes of N x C x the rest: element (n, c, i) is at (n * channels + c) * inner + i.
struct ChannelShape {
  int64_t batch;
  int64_t channels;
  int64_t inner;
};

Result<ChannelShape> channel_shape(const ConstTensorView& x, size_t min_rank) {
  if (x.shape.size() < min_rank)
    return fail("input has shape {}, want rank {} or more", print_shape(x.shape), min_rank);
  if (x.shape.size() == 1) return ChannelShape{x.shape[0], 1, 1};
  const AxisSplit split = split_at_axis(x.shape, 1);
  return ChannelShape{split.outer, split.size, split.inner};
}

Status require_float_inputs(const KernelContext& context, size_t count) {
  TRY(require_inputs(context, count));
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.has_input(i) && !is_float(context.input(i).dtype)) return unsupported(context.input(i).dtype);
  }
  return {};
}

// Statistics given or, in training, of the batch; then running_x = x * momentum + current * (1 - momentum).
struct BatchStatistics {
  std::vector<double> mean;
  std::vector<double> variance;
};

template <typename In>
BatchStatistics batch_statistics(const In& x, const ChannelShape& shape) {
  BatchStatistics statistics;
  for (int64_t c = 0; c < shape.channels; ++c) {
    const Moments moments = moments_of(shape.batch * shape.inner, [&](int64_t i) {
      return static_cast<double>(x[(i / shape.inner * shape.channels + c) * shape.inner + i % shape.inner]);
    });
    statistics.mean.push_back(moments.mean);
    statistics.variance.push_back(moments.variance);
  }
  return statistics;
}

Status write_running(KernelContext& context, size_t output, size_t input, const std::vector<double>& current,
                     double momentum) {
  if (!context.wants_output(output)) return {};
  const ConstTensorView& before = context.input(input);
  TensorView after = TRY(context.output(output, before.dtype, before.shape));
  ReadAs<double> in(before);
  WriteAs<double> out(after);
  for (int64_t c = 0; c < in.size(); ++c)
    out[c] = in[c] * momentum + current[static_cast<size_t>(c)] * (1 - momentum);
  return {};
}

Status normalize_batch(KernelContext& context, const ChannelShape& shape, const BatchStatistics& statistics) {
  const ConstTensorView& x = context.input(0);
  const double epsilon = context.attributes().get_float("epsilon", 1e-5f);
  TensorView y = TRY(context.output(0, x.dtype, x.shape));
  ReadAs<double> scale(context.input(1));
  ReadAs<double> bias(context.input(2));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    WriteAs<T> out(y);
    for (int64_t i = 0; i < in.size(); ++i) {
      const int64_t c = i / shape.inner % shape.channels;
      const auto k = static_cast<size_t>(c);
      const double factor = scale[c] / std::sqrt(statistics.variance[k] + epsilon);
      out[i] = static_cast<T>((in[i] - statistics.mean[k]) * factor + bias[c]);
    }
    return {};
  });
}

// Training is an attribute since version 14, before that the presence of further outputs.
Status run_batch_normalization(KernelContext& context) {
  TRY(require_float_inputs(context, 5));
  const ConstTensorView& x = context.input(0);
  const ChannelShape shape = TRY(channel_shape(x, 1));
  for (size_t i = 1; i < 5; ++i) TRY(require_shape(context, i, {shape.channels}));
  if (context.version() < 9 && context.attributes().get_int("spatial", 1) == 0) {
    return fail("BatchNormalization with spatial=0 is not supported");
  }
  const bool training = context.version() >= 14 ? context.attributes().get_int("training_mode", 0) != 0
                                                : context.wants_output(1) || context.wants_output(2);
  if (!training) {
    ReadAs<double> mean(context.input(3));
    ReadAs<double> variance(context.input(4));
    return normalize_batch(context, shape, {{mean.begin(), mean.end()}, {variance.begin(), variance.end()}});
  }
  const double momentum = context.attributes().get_float("momentum", 0.9f);
  const BatchStatistics statistics = batch_statistics(ReadAs<double>(x), shape);
  TRY(write_running(context, 1, 3, statistics.mean, momentum));
  TRY(write_running(context, 2, 4, statistics.variance, momentum));
  TRY(write_running(context, 3, 3, statistics.mean, 0));
  TRY(write_running(context, 4, 4, statistics.variance, 0));
  return normalize_batch(context, shape, statistics);
}

// Normalizes groups of channels of one image; scale and bias by channel or, in GroupNormalization-18, by
// group.
Status normalize_groups(KernelContext& context, int64_t groups, bool scale_by_group) {
  const ConstTensorView& x = context.input(0);
  const ChannelShape shape = TRY(channel_shape(x, 2));
  if (groups <= 0 || shape.channels % groups != 0)
    return fail("{} groups do not divide {} channels", groups, shape.channels);
  for (size_t i = 1; i < 3; ++i) TRY(require_shape(context, i, {scale_by_group ? groups : shape.channels}));
  const double epsilon = context.attributes().get_float("epsilon", 1e-5f);
  TensorView y = TRY(context.output(0, x.dtype, x.shape));
  ReadAs<double> scale(context.input(1));
  ReadAs<double> bias(context.input(2));
  const int64_t group_channels = shape.channels / groups;
  const int64_t count = group_channels * shape.inner;
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    WriteAs<T> out(y);
    if (in.size() == 0) return {};
    for (int64_t g = 0; g < shape.batch * groups; ++g) {
      const int64_t start = g * count;
      const Moments moments =
          moments_of(count, [&](int64_t i) { return static_cast<double>(in[start + i]); });
      for (int64_t i = 0; i < count; ++i) {
        const int64_t k = scale_by_group ? g % groups : g % groups * group_channels + i / shape.inner;
        const double normal = (in[start + i] - moments.mean) / std::sqrt(moments.variance + epsilon);
        out[start + i] = static_cast<T>(normal * scale[k] + bias[k]);
      }
    }
    return {};
  });
}

Status run_instance_normalization(KernelContext& context) {
  TRY(require_float_inputs(context, 3));
  const ChannelShape shape = TRY(channel_shape(context.input(0), 2));
  if (shape.channels == 0) return fail("input has no channels");
  return normalize_groups(context, shape.channels, false);
}

Status run_group_normalization(KernelContext& context) {
  TRY(require_float_inputs(context, 3));
  return normalize_groups(context, context.attributes().get_int("num_groups", 0), context.version() < 21);
}

// Returns the offsets of a tensor that broadcasts to `shape`, for its element under each element of `shape`.
Result<std::vector<int64_t>> broadcast_offsets(const ConstTensorView& from, const Shape& shape) {
  if (TRY(broadcast_shapes(from.shape, shape)) != shape) {
    return fail("shape {} does not broadcast to {}", print_shape(from.shape), print_shape(shape));
  }
  std::vector<int64_t> offsets(static_cast<size_t>(element_count(shape)));
  for_each_offset(shape, std::array{broadcast_strides(from.shape, shape)},
                  [&](int64_t i, const auto& offset) { offsets[static_cast<size_t>(i)] = offset[0]; });
  return offsets;
}

// Computes y = normalize(x) * scale + bias over the axes from `axis` on; without a mean for RMSNormalization.
Status normalize_layer(KernelContext& context, bool subtract_mean) {
  const ConstTensorView& x = context.input(0);
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", -1), x.shape.size()));
  const double epsilon = context.attributes().get_float("epsilon", 1e-5f);
  const std::vector<int64_t> scale_at = TRY(broadcast_offsets(context.input(1), x.shape));
  ReadAs<double> scale(context.input(1));
  const bool has_bias = context.has_input(2);
  const std::vector<int64_t> bias_at =
      has_bias ? TRY(broadcast_offsets(context.input(2), x.shape)) : scale_at;
  ReadAs<double> bias(context.input(has_bias ? 2 : 1));

  Shape statistics_shape = x.shape;
  std::fill(statistics_shape.begin() + axis, statistics_shape.end(), 1);
  const int64_t rows = element_count(statistics_shape);
  const int64_t count = rows == 0 ? 0 : element_count(x.shape) / rows;
  Tensor mean(DType::f64, {rows});
  Tensor inverse(DType::f64, {rows});
  const DType y_dtype = subtract_mean ? x.dtype : context.input(1).dtype;
  TensorView y = TRY(context.output(0, y_dtype, x.shape));
  ReadAs<double> in(x);
  {
    WriteAs<double> out(y);
    for (int64_t r = 0; r < rows; ++r) {
      Moments moments = moments_of(count, [&](int64_t i) { return in[r * count + i]; });
      if (!subtract_mean) moments = {0, moments.variance + moments.mean * moments.mean};
      const double factor = 1 / std::sqrt(moments.variance + epsilon);
      for (int64_t i = r * count; i < (r + 1) * count; ++i) {
        const auto k = static_cast<size_t>(i);
        out[i] = (in[i] - moments.mean) * factor * scale[scale_at[k]] + (has_bias ? bias[bias_at[k]] : 0);
      }
      mean.as<double>()[static_cast<size_t>(r)] = moments.mean;
      inverse.as<double>()[static_cast<size_t>(r)] = factor;
    }
  }
  if (!subtract_mean) return {};
  const DType stash = context.attributes().get_int("stash_type", 1) == 16 ? DType::bf16 : DType::f32;
  const Tensor* statistics[] = {&mean, &inverse};
  for (size_t i = 0; i < 2; ++i) {
    if (!context.wants_output(i + 1)) continue;
    write_numbers(statistics[i]->as<double>().data(), TRY(context.output(i + 1, stash, statistics_shape)));
  }
  return {};
}

Status run_layer_normalization(KernelContext& context) {
  TRY(require_float_inputs(context, 2));
  return normalize_layer(context, true);
}

Status run_rms_normalization(KernelContext& context) {
  TRY(require_float_inputs(context, 2));
  return normalize_layer(context, false);
}

Status run_lrn(KernelContext& context) {
  TRY(require_float_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const ChannelShape shape = TRY(channel_shape(x, 2));
  const int64_t size = context.attributes().get_int("size", 0);
  if (size <= 0) return fail("attribute size is {}, want 1 or more", size);
  const double alpha = context.attributes().get_float("alpha", 1e-4f);
  const double beta = context.attributes().get_float("beta", 0.75f);
  const double bias = context.attributes().get_float("bias", 1.0f);
  TensorView y = TRY(context.output(0, x.dtype, x.shape));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    WriteAs<T> out(y);
    for (int64_t i = 0; i < in.size(); ++i) {
      const int64_t c = i / shape.inner % shape.channels;
      const int64_t first = std::max<int64_t>(0, c - (size - 1) / 2);
      const int64_t last =
          std::min(shape.channels - 1, size / 2 >= shape.channels - c ? shape.channels - 1 : c + size / 2);
      double sum = 0;
      for (int64_t k = first; k <= last; ++k) {
        const double value = in[i + (k - c) * shape.inner];
        sum += value * value;
      }
      out[i] = static_cast<T>(in[i] / std::pow(bias + alpha / static_cast<double>(size) * sum, beta));
    }
    return {};
  });
}

Status run_lp_normalization(KernelContext& context) {
  TRY(require_float_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const AxisSplit split =
      split_at_axis(x.shape, TRY(resolve_axis(context.attributes().get_int("axis", -1), x.shape.size())));
  const int64_t p = context.attributes().get_int("p", 2);
  if (p != 1 && p != 2) return fail("attribute p is {}, want 1 or 2", p);
  TensorView y = TRY(context.output(0, x.dtype, x.shape));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    WriteAs<T> out(y);
    if (in.size() == 0) return {};
    for (int64_t i = 0; i < split.outer * split.inner; ++i) {
      const int64_t start = i / split.inner * split.size * split.inner + i % split.inner;
      double sum = 0;
      for (int64_t k = 0; k < split.size; ++k) {
        const double value = in[start + k * split.inner];
        sum += p == 1 ? std::fabs(value) : value * value;
      }
      const double norm = p == 1 ? sum : std::sqrt(sum);
      for (int64_t k = 0; k < split.size; ++k) {
        const int64_t at = start + k * split.inner;
        out[at] = norm == 0 ? T(0) : static_cast<T>(in[at] / norm);
      }
    }
    return {};
  });
}

// Computes (x - mean) / (deviation + 1e-9), the small number as in the function body of the ONNX standard.
Status run_mean_variance_normalization(KernelContext& context) {
  TRY(require_float_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const std::vector<int64_t> axes =
      TRY(resolve_axes(context.attributes().get_ints("axes", {0, 2, 3}), x.shape.size()));
  Shape kept = x.shape;
  for (int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  TensorView y = TRY(context.output(0, x.dtype, x.shape));
  std::vector<std::vector<int64_t>> groups(static_cast<size_t>(element_count(kept)));
  for_each_offset(x.shape, std::array{broadcast_strides(kept, x.shape)}, [&](int64_t i, const auto& offset) {
    groups[static_cast<size_t>(offset[0])].push_back(i);
  });
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    WriteAs<T> out(y);
    for (const std::vector<int64_t>& group : groups) {
      const Moments moments = moments_of(static_cast<int64_t>(group.size()), [&](int64_t i) {
        return static_cast<double>(in[group[static_cast<size_t>(i)]]);
      });
      for (int64_t at : group)
        out[at] = static_cast<T>((in[at] - moments.mean) / (std::sqrt(moments.variance) + 1e-9));
    }
    return {};
  });
}

}  // namespace

std::span<const KernelEntry> norm_kernels() {
  static const KernelEntry entries[] = {
      {"BatchNormalization", "", run_batch_normalization},
      {"GroupNormalization", "", run_group_normalization},
      {"InstanceNormalization", "", run_instance_normalization},
      {"LRN", "", run_lrn},
      {"LayerNormalization", "", run_layer_normalization},
      {"LpNormalization", "", run_lp_normalization},
      {"MeanVarianceNormalization", "", run_mean_variance_normalization},
      {"RMSNormalization", "", run_rms_normalization},
  };
  return entries;
}

}  // namespace intarsia::reference
