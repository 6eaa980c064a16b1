#include <algorithm>
#include <numeric>

#include "backends/reference/kernels/move.h"
#include "backends/reference/kernels/movement.h"

namespace intarsia::reference {
namespace {

/// Returns the indices that start:end:step reads of an axis, clamped as in numpy.
std::vector<int64_t> slice_map(int64_t start, int64_t end, int64_t step, int64_t size) {
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? size : size - 1;
  start = std::clamp(start < 0 ? start + size : start, std::max<int64_t>(0, low), std::max<int64_t>(0, high));
  end = std::clamp(end < 0 ? end + size : end, low, std::max(low, high));
  std::vector<int64_t> map;
  if (size == 0) return map;
  // Steps that exceed the axis are all alike; clamped, sums stay in range.
  step = std::clamp(step, -size - 1, size + 1);
  for (int64_t at = start; step > 0 ? at < end : at > end; at += step) map.push_back(at);
  return map;
}

struct SliceArguments {
  std::vector<int64_t> starts, ends, axes, steps;
};

/// Reads the arguments: attributes up to opset 9, inputs since.
Result<SliceArguments> slice_arguments(const KernelContext& context, size_t rank) {
  const auto starts = TRY(ints_argument(context, "starts", 1));
  const auto ends = TRY(ints_argument(context, "ends", 2));
  if (!starts || !ends) return fail("starts or ends are missing");
  const auto axes = TRY(ints_argument(context, "axes", 3));
  const auto steps = TRY(ints_argument(context, "steps", 4));
  const size_t count = starts->size();
  SliceArguments arguments{*starts, *ends, axes ? *axes : identity_map(static_cast<int64_t>(count)),
                           steps ? *steps : std::vector<int64_t>(count, 1)};
  if (ends->size() != count || arguments.axes.size() != count || arguments.steps.size() != count) {
    return fail("{} starts, {} ends, {} axes, {} steps: want equally many", count, ends->size(),
                arguments.axes.size(), arguments.steps.size());
  }
  arguments.axes = TRY(resolve_axes(std::move(arguments.axes), rank));
  if (std::ranges::find(arguments.steps, 0) != arguments.steps.end()) return fail("a step is 0");
  return arguments;
}

Result<std::vector<int64_t>> pad_amounts(const KernelContext& context, size_t rank) {
  const auto pads = TRY(ints_argument(context, "pads", 1));
  if (!pads) return fail("pads are missing");
  std::vector<int64_t> axes = identity_map(static_cast<int64_t>(rank));
  if (context.has_input(3)) axes = TRY(resolve_axes(TRY(context.input_ints(3)), rank));
  if (pads->size() != 2 * axes.size()) {
    return fail("{} pads for {} axes, want two per axis", pads->size(), axes.size());
  }
  std::vector<int64_t> amounts(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    amounts[static_cast<size_t>(axes[i])] = (*pads)[i];
    amounts[rank + static_cast<size_t>(axes[i])] = (*pads)[axes.size() + i];
  }
  return amounts;
}

/// Returns the index that index `at` of an axis of `size` elements reads, outside it by the rule of `mode`;
/// -1 for the fill.
int64_t padded_source(int64_t at, int64_t size, const std::string& mode) {
  if (at >= 0 && at < size) return at;
  if (mode == "edge") return at < 0 ? 0 : size - 1;
  if (mode == "wrap") return (at % size + size) % size;
  if (mode == "reflect") {
    if (size == 1) return 0;
    const int64_t period = 2 * (size - 1);
    at = (at % period + period) % period;
    return at < size ? at : period - at;
  }
  return -1;
}

/// Returns the map of a padded axis. Negative amounts crop, before anything is added.
Result<std::vector<int64_t>> pad_map(int64_t size, int64_t before, int64_t after, const std::string& mode) {
  const int64_t first = std::max<int64_t>(0, -before);
  const int64_t kept = size - first - std::max<int64_t>(0, -after);
  if (kept < 0 || (kept == 0 && mode != "constant")) {
    return fail("mode {} cannot fill an empty axis", mode);
  }
  std::vector<int64_t> map(static_cast<size_t>(size + before + after));
  for (size_t i = 0; i < map.size(); ++i) {
    const int64_t at = padded_source(static_cast<int64_t>(i) - std::max<int64_t>(0, before), kept, mode);
    map[i] = at < 0 ? -1 : first + at;
  }
  return map;
}

/// Returns the element to fill with: input 2, attribute `value` (before opset 11), else zero.
Result<Tensor> pad_fill(const KernelContext& context, DType dtype) {
  if (context.has_input(2)) {
    const ConstTensorView& value = context.input(2);
    if (value.dtype != dtype || element_count(value.shape) != 1) {
      return fail("constant_value is {} {}, want one {}", dtype_name(value.dtype), print_shape(value.shape),
                  dtype_name(dtype));
    }
    return Tensor(value);
  }
  Tensor fill(dtype, {});
  const float value = context.attributes().get_float("value", 0);
  if (value != 0 && is_number(dtype)) write_numbers(&value, fill.view());
  return fill;
}

}  // namespace

Status slice(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const SliceArguments arguments = TRY(slice_arguments(context, x.shape.size()));
  Shape shape = x.shape;
  AxisMaps maps(shape.size());
  std::vector<bool> sliced(shape.size());
  for (size_t i = 0; i < arguments.axes.size(); ++i) {
    const auto axis = static_cast<size_t>(arguments.axes[i]);
    sliced[axis] = true;
    if (element_count(x.shape) == 0 && shape[axis] > (1 << 20))
      return fail("an empty tensor of absurd sizes");
    maps[axis] = slice_map(arguments.starts[i], arguments.ends[i], arguments.steps[i], x.shape[axis]);
    shape[axis] = static_cast<int64_t>(maps[axis].size());
  }
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  if (element_count(shape) == 0) return {};
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!sliced[axis]) maps[axis] = identity_map(shape[axis]);
  }
  return copy_mapped(x, maps, nullptr, y);
}

Status pad(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const size_t rank = x.shape.size();
  const std::vector<int64_t> amounts = TRY(pad_amounts(context, rank));
  const std::string mode = context.attributes().get_string("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    return fail("mode is '{}', want constant, edge, reflect or wrap", mode);
  }
  Shape shape = x.shape;
  for (size_t i = 0; i < rank; ++i) {
    constexpr int64_t most = int64_t{1} << 48;
    if (std::abs(std::max(amounts[i], -most - 1)) > most ||
        std::abs(std::max(amounts[rank + i], -most - 1)) > most) {
      return fail("pads {} and {} of axis {} are absurd", amounts[i], amounts[rank + i], i);
    }
    shape[i] += amounts[i] + amounts[rank + i];
  }
  const int64_t count = TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  if (count == 0) return {};
  AxisMaps maps;
  for (size_t i = 0; i < rank; ++i) {
    const bool same = amounts[i] == 0 && amounts[rank + i] == 0;
    maps.push_back(same ? identity_map(shape[i])
                        : TRY(pad_map(x.shape[i], amounts[i], amounts[rank + i], mode)));
  }
  const Tensor fill = TRY(pad_fill(context, x.dtype));
  return copy_mapped(x, maps, &fill, y);
}

Status center_crop_pad(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  const std::vector<int64_t> sizes = TRY(context.input_ints(1));
  std::vector<int64_t> axes = identity_map(static_cast<int64_t>(x.shape.size()));
  if (context.attributes().has("axes")) {
    axes = TRY(resolve_axes(context.attributes().get_ints("axes"), x.shape.size()));
  }
  if (axes.size() != sizes.size()) return fail("{} sizes for {} axes", sizes.size(), axes.size());
  Shape shape = x.shape;
  for (size_t i = 0; i < axes.size(); ++i) shape[static_cast<size_t>(axes[i])] = sizes[i];
  const int64_t count = TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  if (count == 0) return {};
  AxisMaps maps;
  for (size_t i = 0; i < shape.size(); ++i) {
    // An odd difference crops or pads one more at the end.
    const int64_t difference = x.shape[i] - shape[i];
    const int64_t first = difference >= 0 ? difference / 2 : -(-difference / 2);
    maps.push_back(identity_map(shape[i]));
    for (int64_t& at : maps.back()) at = at + first >= 0 && at + first < x.shape[i] ? at + first : -1;
  }
  const Tensor zero(x.dtype, {});
  return copy_mapped(x, maps, &zero, y);
}

Status reverse_sequence(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  if (x.shape.size() < 2) return fail("input 0 has shape {}, want rank 2 or more", print_shape(x.shape));
  const int64_t time_axis = context.attributes().get_int("time_axis", 0);
  const int64_t batch_axis = context.attributes().get_int("batch_axis", 1);
  if (time_axis < 0 || time_axis > 1 || batch_axis != 1 - time_axis) {
    return fail("time_axis {} and batch_axis {}, want 0 and 1 or 1 and 0", time_axis, batch_axis);
  }
  const std::vector<int64_t> lengths = TRY(context.input_ints(1));
  const int64_t time = x.shape[static_cast<size_t>(time_axis)];
  const int64_t batch = x.shape[static_cast<size_t>(batch_axis)];
  if (static_cast<int64_t>(lengths.size()) != batch) {
    return fail("{} lengths for a batch of {}", lengths.size(), batch);
  }
  for (int64_t length : lengths) {
    if (length < 0 || length > time) return fail("length {} is out of range 0 to {}", length, time);
  }
  const TensorView y = TRY(context.output(0, x.dtype, x.shape));
  const int64_t inner = split_at_axis(x.shape, 1).inner;
  return dispatch_element(x.dtype, [&]<typename T>() -> Status {
    const ReadElements<T> in(x);
    WriteElements<T> out(y);
    const auto place = [&](int64_t t, int64_t b) {
      return (time_axis == 0 ? t * batch + b : b * time + t) * inner;
    };
    for (int64_t b = 0; b < batch && inner > 0; ++b) {
      const int64_t length = lengths[static_cast<size_t>(b)];
      for (int64_t t = 0; t < time; ++t) {
        std::copy_n(in.data() + place(t < length ? length - 1 - t : t, b), inner, out.data() + place(t, b));
      }
    }
    return {};
  });
}

}  // namespace intarsia::reference
