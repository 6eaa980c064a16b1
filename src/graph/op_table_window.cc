#include <algorithm>

#include "base/window_attributes.h"
#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

/// Counts windows along each axis; an unknown size or kernel gives an unknown number.
Result<SymbolicShape> count_windows(const ShapeContext& context, const SymbolicShape& sizes,
                                    const SymbolicShape& kernel) {
  const WindowAttributes read = TRY(window_attributes(context.attributes(), sizes.size()));
  const bool ceil_mode = context.attributes().get_int("ceil_mode", 0) != 0;
  SymbolicShape result = unknown_dims(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t stride = read.strides[i];
    if (kernel[i].is_number() && (kernel[i].number() < 1 || kernel[i].number() > most_in_window)) {
      return fail("kernel size {}", kernel[i].number());
    }
    const bool same = read.is_padded_to_same();
    if (sizes[i].is_number() && sizes[i].number() > most_in_window) continue;
    if (same) {
      result[i] = ceil_div(sizes[i], stride);
      continue;
    }
    if (!kernel[i].is_number()) continue;
    const bool padded = read.is_padded_as_given();
    const Dim start = sizes[i] + (padded ? read.pads[i] : 0);
    const int64_t extent = (kernel[i].number() - 1) * read.dilations[i] + 1;
    const Dim room = start + (padded ? read.pads[sizes.size() + i] : 0) - extent;
    if (room.is_number() && room.number() < 0)
      return fail("a window of {} does not fit into axis {} of size {}", extent, i, sizes[i].number());
    result[i] = (ceil_mode ? ceil_div(room, stride) : floor_div(room, stride)) + 1;
    // A last window that starts after the input and its leading padding is dropped.
    if (ceil_mode) result[i] = larger_of(result[i] - 1, smaller_of(result[i], ceil_div(start, stride)));
  }
  return result;
}

/// Returns the sizes that windows were read from: the output of a transposed convolution.
Result<SymbolicShape> transposed_sizes(const ShapeContext& context, const SymbolicShape& windows,
                                       const SymbolicShape& kernel) {
  const size_t rank = windows.size();
  const WindowAttributes read = TRY(window_attributes(context.attributes(), rank));
  const Shape extra = TRY(axis_attribute(context.attributes(), "output_padding", rank, 0, 0));
  if (context.attributes().has("output_shape")) {
    return to_symbolic(TRY(axis_attribute(context.attributes(), "output_shape", rank, 0, 0)));
  }
  SymbolicShape result = unknown_dims(rank);
  for (size_t i = 0; i < rank; ++i) {
    if (windows[i].is_number() && windows[i].number() > most_in_window) continue;
    if (!kernel[i].is_number() || kernel[i].number() > most_in_window) continue;
    Dim size =
        (windows[i] - 1) * read.strides[i] + (extra[i] + (kernel[i].number() - 1) * read.dilations[i] + 1);
    if (read.is_padded_as_given()) size = size - (read.pads[i] + read.pads[rank + i]);
    // Padding removes what exceeds the stride, but adds nothing where a kernel is smaller than the stride.
    if (read.is_padded_to_same()) size = smaller_of(size, windows[i] * read.strides[i]);
    if (size.is_number() && size.number() < 0)
      return fail("axis {} of the output would have size {}", i, size.number());
    result[i] = size;
  }
  return result;
}

SymbolicShape spatial(const SymbolicShape& shape) { return SymbolicShape(shape.begin() + 2, shape.end()); }

SymbolicShape join(const Dim& batch, const Dim& channels, const SymbolicShape& sizes) {
  SymbolicShape result = {batch, channels};
  result.insert(result.end(), sizes.begin(), sizes.end());
  return result;
}

/// Returns the weights' spatial sizes, from the attribute if the weights are unknown.
Result<SymbolicShape> kernel_of_weights(const ShapeContext& context, size_t rank) {
  SymbolicShape kernel = unknown_dims(rank);
  if (context.attributes().has("kernel_shape")) {
    kernel = to_symbolic(TRY(axis_attribute(context.attributes(), "kernel_shape", rank, 1, 1)));
  }
  const SymbolicShape* w = context.shape(1);
  if (w == nullptr) return kernel;
  if (w->size() != rank + 2) return fail("weights {} for {} spatial axes", print_shape(*w), rank);
  for (size_t i = 0; i < rank; ++i) {
    kernel[i] = TRY(with_context(merge_dim(kernel[i], (*w)[i + 2]), "kernel_shape and weights, axis {}", i));
  }
  return kernel;
}

Status conv(ShapeContext& context) {
  TRY(require_rank(context, 0, 3));
  TRY(require_rank(context, 1, 3));
  const SymbolicShape* x = context.shape(0);
  const SymbolicShape* w = context.shape(1);
  if (x == nullptr) {
    context.set_output(0, context.dtype(0), w ? OptionalShape(unknown_dims(w->size())) : std::nullopt);
    return {};
  }
  const SymbolicShape kernel = TRY(kernel_of_weights(context, x->size() - 2));
  const int64_t groups = context.attributes().get_int("group", 1);
  if (groups < 1 || groups > most_in_window) return fail("group is {}, want 1 or more", groups);
  if (w != nullptr) {
    TRY(require_same_dim((*x)[1], (*w)[1] * groups, "input channels and weights"));
  }
  const SymbolicShape sizes = TRY(count_windows(context, spatial(*x), kernel));
  context.set_output(0, context.dtype(0), join((*x)[0], w ? (*w)[0] : Dim::unknown(), sizes));
  return {};
}

Status conv_transpose(ShapeContext& context) {
  TRY(require_rank(context, 0, 3));
  TRY(require_rank(context, 1, 3));
  const SymbolicShape* x = context.shape(0);
  const SymbolicShape* w = context.shape(1);
  if (x == nullptr) {
    context.set_output(0, context.dtype(0), w ? OptionalShape(unknown_dims(w->size())) : std::nullopt);
    return {};
  }
  const SymbolicShape kernel = TRY(kernel_of_weights(context, x->size() - 2));
  const int64_t groups = context.attributes().get_int("group", 1);
  if (groups < 1 || groups > most_in_window) return fail("group is {}, want 1 or more", groups);
  if (w != nullptr) TRY(require_same_dim((*x)[1], (*w)[0], "input channels and weights"));
  const SymbolicShape sizes = TRY(transposed_sizes(context, spatial(*x), kernel));
  const Dim channels = w ? (*w)[1] * groups : Dim::unknown();
  context.set_output(0, context.dtype(0), join((*x)[0], channels, sizes));
  return {};
}

Status causal_conv_with_state(ShapeContext& context) {
  TRY(require_rank(context, 0, 3, 3));
  TRY(require_rank(context, 1, 3, 3));
  const SymbolicShape* x = context.shape(0);
  const SymbolicShape* w = context.shape(1);
  context.set_output(0, context.dtype(0), input_shape(context, 0));
  SymbolicShape state = unknown_dims(3);
  if (x != nullptr) std::copy_n(x->begin(), 2, state.begin());
  if (w != nullptr && (*w)[2] != 0) state[2] = (*w)[2] - 1;
  context.set_output(1, context.dtype(0), state);
  return {};
}

Status col2im(ShapeContext& context) {
  TRY(require_rank(context, 0, 3, 3));
  const SymbolicShape* x = context.shape(0);
  const OptionalShape image = TRY(shape_from_input(context, 1));
  const OptionalShape block = TRY(shape_from_input(context, 2));
  if (!image) {
    context.set_output(0, context.dtype(0));
    return {};
  }
  Dim channels = Dim::unknown();
  const Dim taps = block ? product_of_dims(*block, 0, block->size()) : Dim::unknown();
  if (x != nullptr && taps != 0) {
    const Dim& rows = (*x)[1];
    if (rows.is_number() && taps.is_number() && rows.number() % taps.number() != 0)
      return fail("{} rows for blocks of {}", rows.number(), taps.number());
    channels = floor_div(rows, taps);
  }
  context.set_output(0, context.dtype(0), join(x ? (*x)[0] : Dim::unknown(), channels, *image));
  return {};
}

Status deform_conv(ShapeContext& context) {
  TRY(require_rank(context, 2, 4));
  return conv(context);
}

/// Infers output 0 and, if present, output 1 with the indices.
Status pool(ShapeContext& context) {
  TRY(require_rank(context, 0, 3));
  OptionalShape result;
  if (const SymbolicShape* x = context.shape(0)) {
    const SymbolicShape kernel = to_symbolic(context.attributes().get_ints("kernel_shape"));
    if (kernel.size() != x->size() - 2) return fail("kernel_shape has {} sizes", kernel.size());
    result = join((*x)[0], (*x)[1], TRY(count_windows(context, spatial(*x), kernel)));
  }
  context.set_output(0, context.dtype(0), result);
  context.set_output(1, DType::i64, result);
  return {};
}

Status global_pool(ShapeContext& context) {
  TRY(require_rank(context, 0, 2));
  OptionalShape result = input_shape(context, 0);
  for (size_t i = 2; result && i < result->size(); ++i) (*result)[i] = Dim(1);
  context.set_output(0, context.dtype(0), result);
  return {};
}

Status max_roi_pool(ShapeContext& context) {
  TRY(require_rank(context, 0, 4, 4));
  TRY(require_rank(context, 1, 2, 2));
  const Shape grid = context.attributes().get_ints("pooled_shape");
  if (grid.size() != 2 || grid[0] < 1 || grid[1] < 1) return fail("pooled_shape is {}", print_shape(grid));
  const SymbolicShape* x = context.shape(0);
  const SymbolicShape* rois = context.shape(1);
  context.set_output(
      0, context.dtype(0),
      join(rois ? (*rois)[0] : Dim::unknown(), x ? (*x)[1] : Dim::unknown(), to_symbolic(grid)));
  return {};
}

Status max_unpool(ShapeContext& context) {
  TRY(require_rank(context, 0, 3));
  OptionalShape result;
  if (context.has_input(2)) {
    result = TRY(shape_from_input(context, 2));
  } else if (const SymbolicShape* x = context.shape(0)) {
    const SymbolicShape kernel = to_symbolic(context.attributes().get_ints("kernel_shape"));
    if (kernel.size() != x->size() - 2) return fail("kernel_shape has {} sizes", kernel.size());
    result = join((*x)[0], (*x)[1], TRY(transposed_sizes(context, spatial(*x), kernel)));
  }
  context.set_output(0, context.dtype(0), result);
  return {};
}

constexpr OpInfo window_rows[] = {
    {"AveragePool", "", 1, 1, 1, 1, pool},
    work({"CausalConvWithState", "", 2, 4, 1, 2, causal_conv_with_state}),
    {"Col2Im", "", 3, 3, 1, 1, col2im},
    work({"Conv", "", 2, 3, 1, 1, conv}),
    work({"ConvTranspose", "", 2, 3, 1, 1, conv_transpose}),
    work({"DeformConv", "", 3, 5, 1, 1, deform_conv}),
    {"GlobalAveragePool", "", 1, 1, 1, 1, global_pool},
    {"GlobalLpPool", "", 1, 1, 1, 1, global_pool},
    {"GlobalMaxPool", "", 1, 1, 1, 1, global_pool},
    {"LpPool", "", 1, 1, 1, 1, pool},
    {"MaxPool", "", 1, 1, 1, 2, pool},
    {"MaxRoiPool", "", 2, 2, 1, 1, max_roi_pool},
    {"MaxUnpool", "", 2, 3, 1, 1, max_unpool},
};

}  // namespace

std::span<const OpInfo> window_ops() { return window_rows; }

}  // namespace intarsia
