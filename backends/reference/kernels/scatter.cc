#include <algorithm>
#include <utility>

#include "backends/reference/kernels/indexing.h"
#include "backends/reference/kernels/move.h"

namespace intarsia::reference {

Status require_inside(const Shape& data, const Shape& indices, int64_t axis) {
  bool inside = data.size() == indices.size();
  for (size_t i = 0; inside && i < data.size(); ++i) {
    inside = static_cast<int64_t>(i) == axis || indices[i] <= data[i];
  }
  if (inside) return {};
  return fail("indices of shape {} for data of shape {}", print_shape(indices), print_shape(data));
}

Result<NdIndices> nd_indices(const KernelContext& context, size_t batch_dims) {
  const Shape& data = context.input(0).shape;
  const Shape& shape = context.input(1).shape;
  const int64_t depth = shape.empty() ? -1 : shape.back();
  const bool fits = depth >= 0 && shape.size() > batch_dims && data.size() >= batch_dims &&
                    depth <= static_cast<int64_t>(data.size() - batch_dims) &&
                    std::equal(data.begin(), data.begin() + static_cast<int64_t>(batch_dims), shape.begin());
  if (!fits) return fail("indices of shape {} for data of shape {}", print_shape(shape), print_shape(data));
  const Shape strides = row_major_strides(data);
  const std::vector<int64_t> values = TRY(context.input_ints(1));
  NdIndices result;
  for (size_t i = batch_dims + static_cast<size_t>(depth); i < data.size(); ++i) result.block *= data[i];
  const int64_t tuples = element_count(Shape(shape.begin(), shape.end() - 1));
  // Empty tuples take no memory in the input, so a file may claim any number of them.
  if (depth == 0 && tuples > int64_t{1} << 28) return fail("{} empty index tuples", tuples);
  result.offsets.assign(static_cast<size_t>(tuples), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t axis = batch_dims + i % static_cast<size_t>(depth);
    const int64_t size = data[axis];
    if (values[i] < -size || values[i] >= size) {
      return fail("index {} is out of range for the axis {} of size {}", values[i], axis, size);
    }
    result.offsets[i / static_cast<size_t>(depth)] +=
        (values[i] < 0 ? values[i] + size : values[i]) * strides[axis];
  }
  return result;
}

namespace {

enum class Reduction { none, add, mul, max, min };

Result<Reduction> reduction_of(const KernelContext& context) {
  const std::string name = context.attributes().get_string("reduction", "none");
  if (name == "none") return Reduction::none;
  if (name == "add") return Reduction::add;
  if (name == "mul") return Reduction::mul;
  if (name == "max") return Reduction::max;
  if (name == "min") return Reduction::min;
  return fail("reduction is '{}', want none, add, mul, max or min", name);
}

template <typename T>
T combine(Reduction reduction, T old, T update) {
  switch (reduction) {
    case Reduction::add:
      return wrapping_add(old, update);
    case Reduction::mul:
      return wrapping_multiply(old, update);
    case Reduction::max:
      return std::max(old, update);
    case Reduction::min:
      return std::min(old, update);
    case Reduction::none:
      break;
  }
  return update;
}

/// Writes input 0 with update i of input 2 put (or combined) at element places(i), for i in [0, count).
template <typename Places>
Status scatter(KernelContext& context, int64_t count, Places places) {
  const ConstTensorView& x = context.input(0);
  const Reduction reduction = TRY(reduction_of(context));
  const TensorView y = TRY(context.output(0, x.dtype, x.shape));
  if (reduction == Reduction::none) {
    return dispatch_element(x.dtype, [&]<typename T>() -> Status {
      const ReadElements<T> old(x), updates(context.input(2));
      WriteElements<T> out(y);
      std::copy_n(old.data(), old.size(), out.data());
      for (int64_t i = 0; i < count; ++i) out[places(i)] = updates[i];
      return {};
    });
  }
  return dispatch_number_or_bool(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> old(x), updates(context.input(2));
    WriteAs<T> out(y);
    std::copy_n(old.data(), old.size(), out.data());
    for (int64_t i = 0; i < count; ++i) out[places(i)] = combine<T>(reduction, out[places(i)], updates[i]);
    return {};
  });
}

}  // namespace

Status scatter_elements(KernelContext& context) {
  TRY(require_inputs(context, 3));
  TRY(require_same_dtype(context, 0, 2));
  const ConstTensorView& x = context.input(0);
  const Shape& shape = context.input(1).shape;
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", 0), x.shape.size()));
  TRY(require_inside(x.shape, shape, axis));
  if (context.input(2).shape != shape) {
    return fail("updates of shape {} for indices of shape {}", print_shape(context.input(2).shape),
                print_shape(shape));
  }
  std::vector<int64_t> places = TRY(wrapped_indices(context, 1, x.shape[static_cast<size_t>(axis)]));
  Shape strides = row_major_strides(x.shape);
  const int64_t stride = std::exchange(strides[static_cast<size_t>(axis)], 0);
  for_each_offset<1>(shape, {strides}, [&](int64_t i, const auto& offsets) {
    places[static_cast<size_t>(i)] = places[static_cast<size_t>(i)] * stride + offsets[0];
  });
  return scatter(context, static_cast<int64_t>(places.size()),
                 [&](int64_t i) { return places[static_cast<size_t>(i)]; });
}

Status scatter_nd(KernelContext& context) {
  TRY(require_inputs(context, 3));
  TRY(require_same_dtype(context, 0, 2));
  const NdIndices indices = TRY(nd_indices(context, 0));
  const Shape& data = context.input(0).shape;
  const Shape& index_shape = context.input(1).shape;
  Shape shape(index_shape.begin(), index_shape.end() - 1);
  shape.insert(shape.end(), data.begin() + index_shape.back(), data.end());
  if (context.input(2).shape != shape) {
    return fail("updates of shape {}, want {}", print_shape(context.input(2).shape), print_shape(shape));
  }
  return scatter(context, element_count(shape), [&](int64_t i) {
    return indices.offsets[static_cast<size_t>(i / indices.block)] + i % indices.block;
  });
}

}  // namespace intarsia::reference
