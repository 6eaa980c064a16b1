#include "backends/reference/kernels/window_axes.h"

#include <algorithm>

#include "base/window_attributes.h"

namespace intarsia::reference {
namespace {

Result<WindowAttributes> read_attributes(const KernelContext& context, const Shape& spatial,
                                         const Shape& kernel) {
  bool fits = spatial.size() == kernel.size();
  for (size_t i = 0; fits && i < spatial.size(); ++i)
    fits = kernel[i] >= 1 && kernel[i] <= most_in_window && spatial[i] <= most_in_window;
  if (!fits) return fail("kernel {} for the spatial sizes {}", print_shape(kernel), print_shape(spatial));
  return window_attributes(context.attributes(), spatial.size());
}

WindowAxis make_axis(const WindowAttributes& read, int64_t size, int64_t kernel, size_t i, size_t rank) {
  WindowAxis axis{size, 0, kernel, read.strides[i], read.dilations[i], 0, 0};
  if (read.is_padded_as_given()) {
    axis.before = read.pads[i];
    axis.after = read.pads[rank + i];
  }
  return axis;
}

void share_padding(WindowAxis& axis, int64_t total, bool more_at_end) {
  total = std::max<int64_t>(0, total);
  axis.before = more_at_end ? total / 2 : total - total / 2;
  axis.after = total - axis.before;
}

}  // namespace

Result<WindowAxes> window_axes(const KernelContext& context, const Shape& spatial, const Shape& kernel) {
  const WindowAttributes read = TRY(read_attributes(context, spatial, kernel));
  const bool ceil_mode = context.attributes().get_int("ceil_mode", 0) != 0;
  WindowAxes axes;
  for (size_t i = 0; i < spatial.size(); ++i) {
    WindowAxis axis = make_axis(read, spatial[i], kernel[i], i, spatial.size());
    const int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
    if (read.is_padded_to_same()) {
      axis.out = (axis.in + axis.stride - 1) / axis.stride;
      share_padding(axis, (axis.out - 1) * axis.stride + extent - axis.in, read.auto_pad == "SAME_UPPER");
    } else {
      const int64_t room = axis.in + axis.before + axis.after - extent;
      if (room < 0) {
        return fail("a window of {} does not fit into axis {} of size {} with pads {} and {}", extent, i,
                    axis.in, axis.before, axis.after);
      }
      axis.out = (room + (ceil_mode ? axis.stride - 1 : 0)) / axis.stride + 1;
      // Windows that start in the padding at the end do not count.
      if (ceil_mode && (axis.out - 1) * axis.stride >= axis.in + axis.before) --axis.out;
    }
    axes.push_back(axis);
  }
  return axes;
}

Result<WindowAxes> transposed_window_axes(const KernelContext& context, const Shape& spatial,
                                          const Shape& kernel) {
  const WindowAttributes read = TRY(read_attributes(context, spatial, kernel));
  const Shape extra = TRY(axis_attribute(context.attributes(), "output_padding", spatial.size(), 0, 0));
  const bool given = context.attributes().has("output_shape");
  const Shape wanted =
      given ? TRY(axis_attribute(context.attributes(), "output_shape", spatial.size(), 0, 0)) : Shape();
  const bool same = read.is_padded_to_same();
  WindowAxes axes;
  for (size_t i = 0; i < spatial.size(); ++i) {
    WindowAxis axis = make_axis(read, 0, kernel[i], i, spatial.size());
    axis.out = spatial[i];
    const int64_t full = axis.stride * (axis.out - 1) + extra[i] + (axis.kernel - 1) * axis.dilation + 1;
    if (given || same) {
      axis.in = given ? wanted[i] : std::min(axis.out * axis.stride, full);  // padding is never negative
      share_padding(axis, full - axis.in, read.auto_pad == "SAME_UPPER");
    } else {
      axis.in = full - axis.before - axis.after;
    }
    if (axis.in < 0) return fail("axis {} of the output would have size {}", i, axis.in);
    axes.push_back(axis);
  }
  return axes;
}

Result<int64_t> group_attribute(const KernelContext& context, std::string_view name, int64_t channels) {
  const int64_t groups = context.attributes().get_int(name, 1);
  if (groups >= 1 && groups <= std::max<int64_t>(channels, 1) && channels % groups == 0) return groups;
  return fail("{} is {} for {} channels", name, groups, channels);
}

Result<Shape> kernel_attribute(const KernelContext& context, size_t rank) {
  const Shape kernel = context.attributes().get_ints("kernel_shape");
  if (kernel.size() != rank) return fail("kernel_shape has {} sizes, want {}", kernel.size(), rank);
  return kernel;
}

Result<Shape> spatial_sizes(const KernelContext& context, size_t input, size_t least) {
  const Shape& shape = context.input(input).shape;
  if (shape.size() < least) {
    return fail("input {} has shape {}, want rank {} or more", input, print_shape(shape), least);
  }
  return Shape(shape.begin() + 2, shape.end());
}

bool next_index(Shape& index, const Shape& sizes) {
  for (size_t axis = sizes.size(); axis-- > 0;) {
    if (++index[axis] < sizes[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

}  // namespace intarsia::reference
