#include "backends/reference/kernels/window.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/reference/kernels/kernel_families.h"
#include "backends/reference/kernels/move.h"
#include "backends/reference/kernels/window_axes.h"

namespace intarsia::reference {
namespace {

struct Pool {
  WindowAxes axes;
  Shape kernel;
  Shape out;           // spatial sizes
  int64_t planes = 0;  // images times channels
  int64_t in_plane = 0;
};

Result<Pool> read_pool(const KernelContext& context) {
  TRY(require_inputs(context, 1));
  const Shape& x = context.input(0).shape;
  const Shape spatial = TRY(spatial_sizes(context, 0));
  Pool pool;
  pool.kernel = TRY(kernel_attribute(context, spatial.size()));
  pool.axes = TRY(window_axes(context, spatial, pool.kernel));
  TRY(checked_elements(pool.kernel));
  for (const WindowAxis& axis : pool.axes) pool.out.push_back(axis.out);
  pool.planes = x[0] * x[1];
  pool.in_plane = element_count(spatial);
  return pool;
}

Result<TensorView> pool_output(KernelContext& context, size_t output, DType dtype, const Pool& pool) {
  const Shape& x = context.input(0).shape;
  Shape shape = {x[0], x[1]};
  shape.insert(shape.end(), pool.out.begin(), pool.out.end());
  TRY(checked_elements(shape));
  return context.output(output, dtype, shape);
}

/// Calls window(plane, index of the window, number of the window) for every element of the output.
template <typename F>
void for_each_window(const Pool& pool, F&& window) {
  const int64_t windows = element_count(pool.out);
  for (int64_t plane = 0; windows > 0 && plane < pool.planes; ++plane) {
    Shape index(pool.out.size(), 0);
    for (int64_t i = 0; i < windows; ++i, next_index(index, pool.out))
      window(plane, index, plane * windows + i);
  }
}

/// Counts the taps of window `o` at positions below `limit`.
int64_t taps_below(const WindowAxis& axis, int64_t o, int64_t limit) {
  const int64_t room = limit - axis.position(o, 0);
  return room <= 0 ? 0 : std::min(axis.kernel, (room - 1) / axis.dilation + 1);
}

/// Calls tap(offset in the plane) for what the window reads inside the input. Returns how many taps it has
/// inside the input and its padding. The cost is that of the inside: a kernel may be as large as its padding.
template <typename F>
int64_t for_each_tap(const Pool& pool, const Shape& window, F&& tap) {
  Shape first, sizes;
  int64_t count = 1;
  for (size_t i = 0; i < window.size(); ++i) {
    const WindowAxis& axis = pool.axes[i];
    first.push_back(taps_below(axis, window[i], 0));
    sizes.push_back(taps_below(axis, window[i], axis.in) - first.back());
    count *= taps_below(axis, window[i], axis.in + axis.after);
  }
  if (element_count(sizes) == 0) return count;
  Shape index(sizes.size(), 0);
  do {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      offset = offset * pool.axes[i].in + pool.axes[i].position(window[i], first[i] + index[i]);
    }
    tap(offset);
  } while (next_index(index, sizes));
  return count;
}

/// Returns the number of an element counted with the first spatial axis innermost.
int64_t column_major(int64_t offset, const WindowAxes& axes) {
  int64_t result = 0;
  int64_t below = 1;
  for (const WindowAxis& axis : axes) below *= axis.in;
  for (size_t i = axes.size(); i-- > 0;) {
    below /= axes[i].in;
    result += offset % axes[i].in * below;
    offset /= axes[i].in;
  }
  return result;
}

Status max_pool(KernelContext& context) {
  const Pool pool = TRY(read_pool(context));
  const ConstTensorView& x = context.input(0);
  const bool columns = context.attributes().get_int("storage_order", 0) != 0;
  TensorView y, indices;
  if (context.wants_output(0)) y = TRY(pool_output(context, 0, x.dtype, pool));
  if (context.wants_output(1)) indices = TRY(pool_output(context, 1, DType::i64, pool));
  return dispatch_number(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x);
    std::optional<WriteAs<T>> out;
    if (y.dtype != DType::undefined) out.emplace(y);
    constexpr T least =
        std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    for_each_window(pool, [&](int64_t plane, const Shape& window, int64_t number) {
      T best = least;
      int64_t place = -1;
      for_each_tap(pool, window, [&](int64_t offset) {
        const T value = in[plane * pool.in_plane + offset];
        if (place >= 0 && !(value > best)) return;
        best = value;
        place = offset;
      });
      if (out) (*out)[number] = best;
      if (indices.dtype == DType::undefined) return;
      if (place >= 0) place = plane * pool.in_plane + (columns ? column_major(place, pool.axes) : place);
      indices.as<int64_t>()[static_cast<size_t>(number)] = place;
    });
    return {};
  });
}

Status average_pool(KernelContext& context) {
  const Pool pool = TRY(read_pool(context));
  const ConstTensorView& x = context.input(0);
  const bool count_padding = context.attributes().get_int("count_include_pad", 0) != 0;
  const TensorView y = TRY(pool_output(context, 0, x.dtype, pool));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x);
    WriteAs<T> out(y);
    for_each_window(pool, [&](int64_t plane, const Shape& window, int64_t number) {
      T sum = 0;
      int64_t inside = 0;
      const int64_t padded = for_each_tap(pool, window, [&](int64_t offset) {
        sum += in[plane * pool.in_plane + offset];
        ++inside;
      });
      const int64_t count = count_padding ? padded : inside;
      out[number] = count > 0 ? sum / static_cast<T>(count) : T(0);
    });
    return {};
  });
}

Status lp_pool(KernelContext& context) {
  const Pool pool = TRY(read_pool(context));
  const ConstTensorView& x = context.input(0);
  const auto p = static_cast<double>(context.attributes().get_int("p", 2));
  if (p < 1) return fail("p is {}, want 1 or more", p);
  const TensorView y = TRY(pool_output(context, 0, x.dtype, pool));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x);
    WriteAs<T> out(y);
    for_each_window(pool, [&](int64_t plane, const Shape& window, int64_t number) {
      double sum = 0;
      for_each_tap(pool, window, [&](int64_t offset) {
        sum += std::pow(std::abs(static_cast<double>(in[plane * pool.in_plane + offset])), p);
      });
      out[number] = static_cast<T>(std::pow(sum, 1 / p));
    });
    return {};
  });
}

/// Computes output N x C x 1 x ...: `reduce` of each plane.
template <typename Reduce>
Status global_pool(KernelContext& context, Reduce reduce) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const Shape spatial = TRY(spatial_sizes(context, 0, 2));
  const int64_t plane = element_count(spatial);
  if (plane == 0) return fail("shape {} has empty planes", print_shape(x.shape));
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x);
    WriteAs<T> out(y);
    for (int64_t i = 0; i < out.size(); ++i) {
      out[i] = reduce(std::span<const T>(in.data() + i * plane, static_cast<size_t>(plane)));
    }
    return {};
  });
}

Status global_average_pool(KernelContext& context) {
  return global_pool(context, []<typename T>(std::span<const T> plane) {
    double sum = 0;
    for (T value : plane) sum += value;
    return static_cast<T>(sum / static_cast<double>(plane.size()));
  });
}

Status global_max_pool(KernelContext& context) {
  return global_pool(context, []<typename T>(std::span<const T> plane) { return std::ranges::max(plane); });
}

Status global_lp_pool(KernelContext& context) {
  const auto p = static_cast<double>(context.attributes().get_int("p", 2));
  if (p < 1) return fail("p is {}, want 1 or more", p);
  return global_pool(context, [p]<typename T>(std::span<const T> plane) {
    double sum = 0;
    for (T value : plane) sum += std::pow(std::abs(static_cast<double>(value)), p);
    return static_cast<T>(std::pow(sum, 1 / p));
  });
}

/// Returns the size that pooling shrank to the input's, according to the attributes only.
Result<Shape> unpooled_shape(const KernelContext& context) {
  const Shape& x = context.input(0).shape;
  const Shape spatial = TRY(spatial_sizes(context, 0));
  const WindowAxes axes =
      TRY(transposed_window_axes(context, spatial, TRY(kernel_attribute(context, spatial.size()))));
  Shape shape = {x[0], x[1]};
  for (const WindowAxis& axis : axes) shape.push_back(axis.in);
  return shape;
}

Status max_unpool(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& indices = context.input(1);
  if (indices.dtype != DType::i64 || indices.shape != x.shape) {
    return fail("indices are {} {}, want i64 {}", dtype_name(indices.dtype), print_shape(indices.shape),
                print_shape(x.shape));
  }
  const Shape inferred = TRY(unpooled_shape(context));
  const Shape shape = context.has_input(2) ? TRY(context.input_ints(2)) : inferred;
  if (shape.size() != inferred.size()) return fail("output_shape {}", print_shape(shape));
  const int64_t count = TRY(checked_elements(inferred));
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  // Indices refer to the inferred shape, which is at the start of the requested one.
  const Shape strides = row_major_strides(shape);
  return dispatch_element(x.dtype, [&]<typename T>() -> Status {
    const ReadElements<T> in(x);
    WriteElements<T> out(y);
    for (int64_t i = 0; i < out.size(); ++i) out[i] = T{};
    for (int64_t i = 0; i < in.size(); ++i) {
      int64_t at = indices.as<int64_t>()[static_cast<size_t>(i)];
      if (at < 0 || at >= count) return fail("index {} is out of range for {}", at, print_shape(inferred));
      int64_t offset = 0;
      bool inside = true;
      for (size_t axis = shape.size(); axis-- > 0; at /= inferred[axis]) {
        inside = inside && at % inferred[axis] < shape[axis];
        if (inside) offset += at % inferred[axis] * strides[axis];
      }
      if (inside) out[offset] = in[i];
    }
    return {};
  });
}

struct RoiBins {
  int64_t start, end;
};

/// Returns bin `bin` of `bins` over a region that starts at `start` and is `size` long, clamped to [0,
/// limit).
RoiBins roi_bin(int64_t bin, int64_t bins, double start, double size, int64_t limit) {
  const double step = size / static_cast<double>(bins);
  const double low = start + std::floor(static_cast<double>(bin) * step);
  const double high = start + std::ceil(static_cast<double>(bin + 1) * step);
  const auto most = static_cast<double>(limit);
  return {static_cast<int64_t>(std::clamp(low, 0.0, most)),
          static_cast<int64_t>(std::clamp(high, 0.0, most))};
}

/// Computes the maximum in each of a grid of bins over a region (Girshick, "Fast R-CNN", 2015).
template <typename T>
Status max_roi(const KernelContext& context, const Shape& grid, const TensorView& y) {
  const Shape& shape = context.input(0).shape;
  const ReadAs<T> in(context.input(0)), rois(context.input(1));
  WriteAs<T> out(y);
  const T scale = context.attributes().get_float("spatial_scale", 1);
  const int64_t plane = shape[2] * shape[3];
  int64_t next = 0;
  for (int64_t r = 0; r < y.shape[0]; ++r) {
    double corner[4];  // x1, y1, x2, y2
    for (int64_t i = 0; i < 4; ++i) {
      corner[i] = std::round(rois[r * 5 + 1 + i] * scale);
      if (!(std::abs(corner[i]) < 1e15)) return fail("region {} has the corner {}", r, corner[i]);
    }
    const auto image = static_cast<double>(rois[r * 5]);
    if (!(image >= 0 && image < static_cast<double>(shape[0])))
      return fail("region {} is of image {}", r, image);
    const double height = std::max(corner[3] - corner[1] + 1, 1.0);
    const double width = std::max(corner[2] - corner[0] + 1, 1.0);
    for (int64_t i = 0; i < shape[1] * grid[0] * grid[1]; ++i) {
      const int64_t channel = i / (grid[0] * grid[1]);
      const RoiBins rows = roi_bin(i / grid[1] % grid[0], grid[0], corner[1], height, shape[2]);
      const RoiBins columns = roi_bin(i % grid[1], grid[1], corner[0], width, shape[3]);
      const bool empty = rows.start >= rows.end || columns.start >= columns.end;
      T best = empty ? T(0) : std::numeric_limits<T>::lowest();
      const T* from = in.data() + (static_cast<int64_t>(image) * shape[1] + channel) * plane;
      for (int64_t row = rows.start; row < rows.end; ++row) {
        for (int64_t column = columns.start; column < columns.end; ++column) {
          best = std::max(best, from[row * shape[3] + column]);
        }
      }
      out[next++] = best;
    }
  }
  return {};
}

Status max_roi_pool(KernelContext& context) {
  TRY(require_inputs(context, 2));
  TRY(require_rank(context, 0, 4));
  TRY(require_rank(context, 1, 2));
  const ConstTensorView& x = context.input(0);
  const Shape& rois = context.input(1).shape;
  const Shape grid = context.attributes().get_ints("pooled_shape");
  if (rois[1] != 5) return fail("regions have shape {}, want 5 numbers each", print_shape(rois));
  if (grid.size() != 2 || grid[0] < 1 || grid[1] < 1) return fail("pooled_shape is {}", print_shape(grid));
  const Shape shape = {rois[0], x.shape[1], grid[0], grid[1]};
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  return dispatch_float(x.dtype, [&]<typename T>() { return max_roi<T>(context, grid, y); });
}

constexpr KernelEntry window_rows[] = {
    {"AveragePool", "", average_pool},
    {"CausalConvWithState", "", causal_conv_with_state},
    {"Col2Im", "", col2im},
    {"Conv", "", conv},
    {"ConvTranspose", "", conv_transpose},
    {"DeformConv", "", deform_conv},
    {"GlobalAveragePool", "", global_average_pool},
    {"GlobalLpPool", "", global_lp_pool},
    {"GlobalMaxPool", "", global_max_pool},
    {"LpPool", "", lp_pool},
    {"MaxPool", "", max_pool},
    {"MaxRoiPool", "", max_roi_pool},
    {"MaxUnpool", "", max_unpool},
};

}  // namespace

std::span<const KernelEntry> window_kernels() { return window_rows; }

}  // namespace intarsia::reference
