// Sliding windows over the spatial axes: convolutions and pools.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "backends/reference/kernel.h"

namespace intarsia::reference {

/// Spatial axis: window `o` of `out` reads positions o * stride - before + k * dilation, those in [0, in).
struct WindowAxis {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // padding
  int64_t after = 0;

  int64_t position(int64_t o, int64_t k) const { return o * stride - before + k * dilation; }
};
using WindowAxes = std::vector<WindowAxis>;

/// Checks the attributes strides, dilations, pads, auto_pad, ceil_mode for spatial sizes and a kernel; fills
/// in `out`.
Result<WindowAxes> window_axes(const KernelContext& context, const Shape& spatial, const Shape& kernel);

/// Returns the axes of a transposed convolution: `in` is the size of the output, `out` that of the input.
Result<WindowAxes> transposed_window_axes(const KernelContext& context, const Shape& spatial,
                                          const Shape& kernel);

/// Returns the attribute `name` that divides `channels` into groups: at least 1, a divisor, no more groups
/// than channels.
Result<int64_t> group_attribute(const KernelContext& context, std::string_view name, int64_t channels);

/// Returns the attribute kernel_shape, one size for each of `rank` axes.
Result<Shape> kernel_attribute(const KernelContext& context, size_t rank);

/// Returns the sizes after batch and channel; the input must have at least rank 3 (`least`).
Result<Shape> spatial_sizes(const KernelContext& context, size_t input, size_t least = 3);

/// Moves `index` to the next tuple below `sizes` in row-major order; returns false after the last.
bool next_index(Shape& index, const Shape& sizes);

/// Calls row(at_out, at_in, count) for runs of windows along the last axis that tap `tap` of the kernel reads
/// inside the input. The offsets are those of the first window; further ones read `stride` of the last axis
/// further.
template <typename Row>
void for_each_row(const WindowAxes& axes, const Shape& tap, Row&& row) {
  const WindowAxis& last = axes.back();
  const int64_t shift = tap.back() * last.dilation - last.before;
  const int64_t first = shift >= 0 ? 0 : (-shift + last.stride - 1) / last.stride;
  const int64_t end = shift >= last.in ? 0 : std::min(last.out, (last.in - 1 - shift) / last.stride + 1);
  if (first >= end) return;
  Shape sizes;
  for (size_t i = 0; i + 1 < axes.size(); ++i) sizes.push_back(axes[i].out);
  for (int64_t size : sizes) {
    if (size == 0) return;
  }
  Shape index(sizes.size(), 0);
  do {
    int64_t at_out = 0;
    int64_t at_in = 0;
    bool inside = true;
    for (size_t i = 0; inside && i < sizes.size(); ++i) {
      const int64_t position = axes[i].position(index[i], tap[i]);
      inside = position >= 0 && position < axes[i].in;
      at_out = at_out * axes[i].out + index[i];
      at_in = at_in * axes[i].in + position;
    }
    if (inside) row(at_out * last.out + first, at_in * last.in + shift + first * last.stride, end - first);
  } while (next_index(index, sizes));
}

}  // namespace intarsia::reference
