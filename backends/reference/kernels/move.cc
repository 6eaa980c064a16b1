#include "backends/reference/kernels/move.h"

#include <numeric>

namespace intarsia::reference {
namespace {

/// Walks over the output; calls `write(i, offset)` with offset -1 for the fill.
template <typename F>
void walk_maps(const Shape& shape, const Shape& from_strides, const AxisMaps& maps, F&& write) {
  const int64_t count = element_count(shape);
  const size_t rank = shape.size();
  Shape index(rank, 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      const int64_t at = maps[axis][static_cast<size_t>(index[axis])];
      if (at < 0) {
        offset = -1;
        break;
      }
      offset += at * from_strides[axis];
    }
    write(i, offset);
    for (size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace

Status copy_to_output(KernelContext& context, const Shape& shape) {
  const ConstTensorView& from = context.input(0);
  if (TRY(checked_elements(shape)) != element_count(from.shape)) {
    return fail("shape {} does not hold the elements of {}", print_shape(shape), print_shape(from.shape));
  }
  copy_elements(from, TRY(context.output(0, from.dtype, shape)));
  return {};
}

Status copy_strided(const ConstTensorView& from, int64_t from_offset, const Shape& from_strides,
                    const TensorView& to) {
  if (element_count(to.shape) == 0) return {};
  return dispatch_element(to.dtype, [&]<typename T>() -> Status {
    const ReadElements<T> in(from);
    WriteElements<T> out(to);
    for_each_offset<1>(to.shape, {from_strides},
                       [&](int64_t i, const auto& offsets) { out[i] = in[from_offset + offsets[0]]; });
    return {};
  });
}

Status copy_mapped(const ConstTensorView& from, const AxisMaps& maps, const Tensor* fill,
                   const TensorView& to) {
  if (element_count(to.shape) == 0) return {};
  return dispatch_element(to.dtype, [&]<typename T>() -> Status {
    const ReadElements<T> in(from);
    T filler{};
    if (fill != nullptr) filler = ReadElements<T>(fill->view())[0];
    WriteElements<T> out(to);
    walk_maps(to.shape, row_major_strides(from.shape), maps,
              [&](int64_t i, int64_t offset) { out[i] = offset < 0 ? filler : in[offset]; });
    return {};
  });
}

std::vector<int64_t> identity_map(int64_t size) {
  std::vector<int64_t> map(static_cast<size_t>(size));
  std::iota(map.begin(), map.end(), int64_t{0});
  return map;
}

Result<int64_t> input_int(const KernelContext& context, size_t input) {
  if (!context.has_input(input)) return fail("input {} is missing", input);
  const std::vector<int64_t> values = TRY(context.input_ints(input));
  if (values.size() != 1) return fail("input {} has {} elements, want one integer", input, values.size());
  return values.front();
}

Status require_rank(const KernelContext& context, size_t input, size_t rank) {
  const Shape& shape = context.input(input).shape;
  if (shape.size() == rank) return {};
  return fail("input {} has shape {}, want rank {}", input, print_shape(shape), rank);
}

}  // namespace intarsia::reference
