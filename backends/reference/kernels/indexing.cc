#include "backends/reference/kernels/indexing.h"

#include <algorithm>

#include "backends/reference/kernels/kernel_families.h"
#include "backends/reference/kernels/move.h"

namespace intarsia::reference {

Result<std::vector<int64_t>> wrapped_indices(const KernelContext& context, size_t input, int64_t size) {
  std::vector<int64_t> indices = TRY(context.input_ints(input));
  for (int64_t& index : indices) {
    if (index < -size || index >= size) {
      return fail("index {} of input {} is out of range for the size {}", index, input, size);
    }
    if (index < 0) index += size;
  }
  return indices;
}

Status require_same_dtype(const KernelContext& context, size_t a, size_t b) {
  if (context.input(a).dtype == context.input(b).dtype) return {};
  return fail("inputs {} and {} have dtypes {} and {}, want the same", a, b,
              dtype_name(context.input(a).dtype), dtype_name(context.input(b).dtype));
}

namespace {

Status gather(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", 0), x.shape.size()));
  const AxisSplit split = split_at_axis(x.shape, axis);
  const std::vector<int64_t> indices = TRY(wrapped_indices(context, 1, split.size));
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), context.input(1).shape.begin(), context.input(1).shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  return dispatch_element(x.dtype, [&]<typename T>() -> Status {
    const ReadElements<T> in(x);
    WriteElements<T> out(y);
    T* to = out.data();
    for (int64_t o = 0; o < split.outer && split.inner > 0; ++o) {
      for (int64_t index : indices) {
        to = std::copy_n(in.data() + (o * split.size + index) * split.inner, split.inner, to);
      }
    }
    return {};
  });
}

Status gather_elements(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  const Shape& shape = context.input(1).shape;
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", 0), x.shape.size()));
  TRY(require_inside(x.shape, shape, axis));
  const std::vector<int64_t> indices = TRY(wrapped_indices(context, 1, x.shape[static_cast<size_t>(axis)]));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  const Shape all = row_major_strides(x.shape);
  Shape strides = all;
  strides[static_cast<size_t>(axis)] = 0;
  return dispatch_element(x.dtype, [&]<typename T>() -> Status {
    const ReadElements<T> in(x);
    WriteElements<T> out(y);
    for_each_offset<1>(shape, {strides}, [&](int64_t i, const auto& offsets) {
      out[i] = in[offsets[0] + indices[static_cast<size_t>(i)] * all[static_cast<size_t>(axis)]];
    });
    return {};
  });
}

Status gather_nd(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  const Shape& index_shape = context.input(1).shape;
  const int64_t batch_dims = context.attributes().get_int("batch_dims", 0);
  const auto index_rank = static_cast<int64_t>(index_shape.size());
  if (index_rank < 1 || batch_dims < 0 || batch_dims >= index_rank) {
    return fail("batch_dims {} for indices of rank {}", batch_dims, index_rank);
  }
  const auto batch_rank = static_cast<size_t>(batch_dims);
  const NdIndices indices = TRY(nd_indices(context, batch_rank));
  Shape shape(index_shape.begin(), index_shape.end() - 1);
  shape.insert(shape.end(), x.shape.begin() + batch_dims + index_shape.back(), x.shape.end());
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  int64_t batches = 1;
  for (size_t i = 0; i < batch_rank; ++i) batches *= x.shape[i];
  const auto tuples = static_cast<int64_t>(indices.offsets.size());
  if (tuples == 0 || indices.block == 0) return {};
  const int64_t tuples_per_batch = tuples / batches;
  const int64_t batch_size = element_count(x.shape) / batches;
  return dispatch_element(x.dtype, [&]<typename T>() -> Status {
    const ReadElements<T> in(x);
    WriteElements<T> out(y);
    for (int64_t i = 0; i < tuples; ++i) {
      const int64_t from = i / tuples_per_batch * batch_size + indices.offsets[static_cast<size_t>(i)];
      std::copy_n(in.data() + from, indices.block, out.data() + i * indices.block);
    }
    return {};
  });
}

/// Returns a scalar of any number type as i64, truncated.
Result<int64_t> number_as_int(const KernelContext& context, size_t input) {
  const ConstTensorView& x = context.input(input);
  if (!is_number(x.dtype) || element_count(x.shape) != 1) {
    return fail("input {} is {} {}, want one number", input, dtype_name(x.dtype), print_shape(x.shape));
  }
  return ReadAs<int64_t>(x)[0];
}

Status one_hot(KernelContext& context) {
  TRY(require_inputs(context, 3));
  const ConstTensorView& x = context.input(0);
  const ConstTensorView& values = context.input(2);
  const int64_t depth = TRY(number_as_int(context, 1));
  if (depth < 0) return fail("depth is {}", depth);
  if (!is_number(x.dtype)) return unsupported(x.dtype);
  if (values.shape != Shape{2}) return fail("values have shape {}, want 2", print_shape(values.shape));
  const auto axis = TRY(resolve_axis(context.attributes().get_int("axis", -1), x.shape.size() + 1));
  Shape shape = x.shape;
  shape.insert(shape.begin() + axis, depth);
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, values.dtype, shape));
  const AxisSplit split = split_at_axis(shape, axis);
  return dispatch_element(values.dtype, [&]<typename T>() -> Status {
    const ReadAs<int64_t> indices(x);
    const ReadElements<T> off_on(values);
    WriteElements<T> out(y);
    for (int64_t i = 0; i < out.size(); ++i) out[i] = off_on[0];
    for (int64_t i = 0; i < indices.size(); ++i) {
      // Indices outside the depth mark nothing.
      const int64_t index = indices[i] < 0 ? indices[i] + depth : indices[i];
      if (index < 0 || index >= depth) continue;
      out[(i / split.inner * depth + index) * split.inner + i % split.inner] = off_on[1];
    }
    return {};
  });
}

/// Returns where each sample's update goes along the sequence axis.
Result<std::vector<int64_t>> write_positions(const KernelContext& context, int64_t batch, int64_t past,
                                             int64_t added, bool circular) {
  std::vector<int64_t> positions(static_cast<size_t>(batch), 0);
  if (context.has_input(2)) positions = TRY(context.input_ints(2));
  if (static_cast<int64_t>(positions.size()) != batch) {
    return fail("{} write_indices for a batch of {}", positions.size(), batch);
  }
  for (int64_t& position : positions) {
    if (position < 0 || (!circular && position > past - added)) {
      return fail("write index {}: {} entries do not fit into {}", position, added, past);
    }
    if (circular && past > 0) position %= past;
  }
  return positions;
}

Status tensor_scatter(KernelContext& context) {
  TRY(require_inputs(context, 2));
  TRY(require_same_dtype(context, 0, 1));
  const ConstTensorView& past = context.input(0);
  const ConstTensorView& update = context.input(1);
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", -2), past.shape.size()));
  if (axis == 0) return fail("axis is 0, which is the batch");
  const std::string mode = context.attributes().get_string("mode", "linear");
  if (mode != "linear" && mode != "circular") return fail("mode is '{}', want linear or circular", mode);
  const AxisSplit split = split_at_axis(past.shape, axis);
  Shape fitting = past.shape;
  if (update.shape.size() == fitting.size())
    fitting[static_cast<size_t>(axis)] = update.shape[static_cast<size_t>(axis)];
  if (update.shape != fitting || fitting[static_cast<size_t>(axis)] > split.size) {
    return fail("an update of shape {} for the cache {}", print_shape(update.shape), print_shape(past.shape));
  }
  const int64_t added = fitting[static_cast<size_t>(axis)];
  const std::vector<int64_t> positions =
      TRY(write_positions(context, past.shape[0], split.size, added, mode == "circular"));
  const TensorView y = TRY(context.output(0, past.dtype, past.shape));
  return dispatch_element(past.dtype, [&]<typename T>() -> Status {
    const ReadElements<T> old(past), in(update);
    WriteElements<T> out(y);
    std::copy_n(old.data(), old.size(), out.data());
    for (int64_t i = 0; i < in.size() / std::max<int64_t>(1, split.inner); ++i) {
      const int64_t outer = i / added;
      const int64_t start = positions[static_cast<size_t>(outer / (split.outer / past.shape[0]))];
      const int64_t row = outer * split.size + (start + i % added) % split.size;
      std::copy_n(in.data() + i * split.inner, split.inner, out.data() + row * split.inner);
    }
    return {};
  });
}

constexpr KernelEntry indexing_rows[] = {
    {"Gather", "", gather},
    {"GatherElements", "", gather_elements},
    {"GatherND", "", gather_nd},
    {"OneHot", "", one_hot},
    {"Scatter", "", scatter_elements},
    {"ScatterElements", "", scatter_elements},
    {"ScatterND", "", scatter_nd},
    {"TensorScatter", "", tensor_scatter},
};

}  // namespace

std::span<const KernelEntry> indexing_kernels() { return indexing_rows; }

}  // namespace intarsia::reference
