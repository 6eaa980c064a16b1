#include "backends/reference/kernels/movement.h"

#include <algorithm>
#include <numeric>

#include "backends/reference/kernels/kernel_families.h"
#include "backends/reference/kernels/move.h"

namespace intarsia::reference {
namespace {

/// Returns the sizes that Reshape asks for, with 0 (copy the input's size) and -1 (what remains) resolved.
Result<Shape> resolve_reshape(const Shape& from, std::vector<int64_t> wanted, bool allow_zero) {
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && !allow_zero) {
      if (i >= from.size()) return fail("size {} is 0 (copied), but the input has rank {}", i, from.size());
      wanted[i] = from[i];
    }
    if (wanted[i] == -1) {
      if (open) return fail("more than one size is -1 in {}", print_shape(wanted));
      open = i;
    } else if (wanted[i] < 0 || __builtin_mul_overflow(known, wanted[i], &known)) {
      return fail("shape {} is not possible", print_shape(wanted));
    }
  }
  const int64_t count = element_count(from);
  if (open) {
    if (known == 0 || count % known != 0) {
      return fail("shape {} does not divide {} elements", print_shape(wanted), count);
    }
    wanted[*open] = count / known;
  }
  return wanted;
}

Status reshape(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const auto wanted = TRY(ints_argument(context, "shape", 1));
  if (!wanted) return fail("the shape is missing");
  const bool allow_zero = context.attributes().get_int("allowzero", 0) != 0;
  return copy_to_output(context, TRY(resolve_reshape(context.input(0).shape, *wanted, allow_zero)));
}

Status flatten(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const Shape& shape = context.input(0).shape;
  // The axis may be one past the last.
  const auto rank = static_cast<int64_t>(shape.size());
  int64_t axis = context.attributes().get_int("axis", 1);
  if (axis < -rank || axis > rank) return fail("axis {} is out of range for rank {}", axis, rank);
  if (axis < 0) axis += rank;
  Shape flat = {1, 1};
  for (int64_t i = 0; i < rank; ++i) flat[i < axis ? 0 : 1] *= shape[static_cast<size_t>(i)];
  return copy_to_output(context, flat);
}

Status squeeze(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const Shape& shape = context.input(0).shape;
  const auto given = TRY(ints_argument(context, "axes", 1));
  std::vector<bool> drop(shape.size());
  if (given) {
    for (int64_t axis : TRY(resolve_axes(*given, shape.size()))) {
      const auto i = static_cast<size_t>(axis);
      if (shape[i] != 1) return fail("axis {} of {} has size {}, want 1", axis, print_shape(shape), shape[i]);
      drop[i] = true;
    }
  }
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (given ? !drop[i] : shape[i] != 1) result.push_back(shape[i]);
  }
  return copy_to_output(context, result);
}

Status unsqueeze(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const Shape& shape = context.input(0).shape;
  const auto given = TRY(ints_argument(context, "axes", 1));
  if (!given) return fail("the axes are missing");
  const size_t rank = shape.size() + given->size();
  std::vector<bool> added(rank);
  for (int64_t axis : TRY(resolve_axes(*given, rank))) added[static_cast<size_t>(axis)] = true;
  Shape result;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) result.push_back(added[i] ? 1 : shape[next++]);
  return copy_to_output(context, result);
}

Status transpose(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const size_t rank = x.shape.size();
  std::vector<int64_t> perm = context.attributes().get_ints("perm");
  if (!context.attributes().has("perm")) {
    perm = identity_map(static_cast<int64_t>(rank));
    std::ranges::reverse(perm);
  }
  perm = TRY(resolve_axes(std::move(perm), rank));
  if (perm.size() != rank) return fail("perm has {} axes, the input has {}", perm.size(), rank);
  const Shape strides = row_major_strides(x.shape);
  Shape shape, moved;
  for (int64_t axis : perm) {
    shape.push_back(x.shape[static_cast<size_t>(axis)]);
    moved.push_back(strides[static_cast<size_t>(axis)]);
  }
  return copy_strided(x, 0, moved, TRY(context.output(0, x.dtype, shape)));
}

Result<Shape> concat_shape(const KernelContext& context, int64_t axis) {
  Shape shape = context.input(0).shape;
  for (size_t i = 1; i < context.input_count(); ++i) {
    const ConstTensorView& x = context.input(i);
    bool fits = x.dtype == context.input(0).dtype && x.shape.size() == shape.size();
    for (size_t k = 0; fits && k < shape.size(); ++k) {
      if (static_cast<int64_t>(k) == axis) {
        shape[k] += x.shape[k];
      } else {
        fits = shape[k] == x.shape[k];
      }
    }
    if (!fits) {
      return fail("inputs 0 ({} {}) and {} ({} {}) do not join along axis {}",
                  dtype_name(context.input(0).dtype), print_shape(context.input(0).shape), i,
                  dtype_name(x.dtype), print_shape(x.shape), axis);
    }
  }
  return shape;
}

Status concat(KernelContext& context) {
  if (context.input_count() == 0) return fail("no inputs");
  TRY(require_inputs(context, context.input_count()));
  const ConstTensorView& first = context.input(0);
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", 1), first.shape.size()));
  const TensorView y = TRY(context.output(0, first.dtype, TRY(concat_shape(context, axis))));
  const AxisSplit whole = split_at_axis(y.shape, axis);
  return dispatch_element(y.dtype, [&]<typename T>() -> Status {
    WriteElements<T> out(y);
    int64_t start = 0;
    for (size_t i = 0; i < context.input_count(); ++i) {
      const ReadElements<T> in(context.input(i));
      const int64_t part = split_at_axis(context.input(i).shape, axis).size;
      const int64_t block = part * whole.inner;
      for (int64_t o = 0; o < whole.outer && block > 0; ++o) {
        std::copy_n(in.data() + o * block, block, out.data() + (o * whole.size + start) * whole.inner);
      }
      start += part;
    }
    return {};
  });
}

/// Returns the sizes of the parts: given, or `count` parts of equal size with a smaller (perhaps empty) end.
Result<std::vector<int64_t>> split_sizes(const KernelContext& context, int64_t size) {
  const auto count = static_cast<int64_t>(context.output_count());
  std::vector<int64_t> sizes;
  if (const auto given = TRY(ints_argument(context, "split", 1))) {
    int64_t sum = 0;
    for (int64_t part : *given) {
      if (part < 0 || __builtin_add_overflow(sum, part, &sum)) return fail("a part of size {}", part);
    }
    if (sum != size) return fail("the parts add up to {}, the axis has size {}", sum, size);
    sizes = *given;
  } else {
    const int64_t parts = context.attributes().get_int("num_outputs", count);
    if (parts < 1 || parts != count) return fail("num_outputs is {}, the node has {} outputs", parts, count);
    const int64_t chunk = (size + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::clamp<int64_t>(size - i * chunk, 0, chunk));
  }
  if (sizes.size() != context.output_count()) {
    return fail("{} parts for {} outputs", sizes.size(), context.output_count());
  }
  return sizes;
}

Status split(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", 0), x.shape.size()));
  const std::vector<int64_t> sizes = TRY(split_sizes(context, x.shape[static_cast<size_t>(axis)]));
  const Shape strides = row_major_strides(x.shape);
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Shape shape = x.shape;
    shape[static_cast<size_t>(axis)] = sizes[i];
    if (context.wants_output(i)) {
      const TensorView y = TRY(context.output(i, x.dtype, shape));
      TRY(copy_strided(x, start * strides[static_cast<size_t>(axis)], strides, y));
    }
    start += sizes[i];
  }
  return {};
}

Status expand(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  const Shape wanted = TRY(context.input_ints(1));
  TRY(checked_elements(wanted));
  const Shape shape = TRY(broadcast_shapes(x.shape, wanted));
  TRY(checked_elements(shape));
  return copy_strided(x, 0, broadcast_strides(x.shape, shape), TRY(context.output(0, x.dtype, shape)));
}

Status tile(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const ConstTensorView& x = context.input(0);
  const std::vector<int64_t> repeats = TRY(context.input_ints(1));
  if (repeats.size() != x.shape.size()) {
    return fail("{} repeats for the rank {}", repeats.size(), x.shape.size());
  }
  Shape shape = x.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i] < 0 || __builtin_mul_overflow(shape[i], repeats[i], &shape[i])) {
      return fail("repeats {} of the shape {}", print_shape(repeats), print_shape(x.shape));
    }
  }
  const int64_t count = TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  if (count == 0) return {};
  AxisMaps maps;
  for (size_t i = 0; i < shape.size(); ++i) {
    maps.push_back(identity_map(shape[i]));
    for (int64_t& at : maps.back()) at %= x.shape[i];
  }
  return copy_mapped(x, maps, nullptr, y);
}

/// Writes a transpose of input 0, seen with other sizes, as `shape`.
Status permute_as(KernelContext& context, const Shape& seen, const std::array<size_t, 6>& perm,
                  const Shape& shape) {
  const ConstTensorView& x = context.input(0);
  TRY(checked_elements(shape));
  TensorView y = TRY(context.output(0, x.dtype, shape));
  const Shape strides = row_major_strides(seen);
  Shape moved;
  y.shape.clear();
  for (size_t axis : perm) {
    y.shape.push_back(seen[axis]);
    moved.push_back(strides[axis]);
  }
  return copy_strided(x, 0, moved, y);
}

struct Blocks {
  int64_t size;
  bool depth_first;  // DCR: the block's place comes before the channel in the depth axis
};

Result<Blocks> block_attributes(const KernelContext& context) {
  TRY(require_inputs(context, 1));
  TRY(require_rank(context, 0, 4));
  const int64_t size = context.attributes().get_int("blocksize", 0);
  const std::string mode = context.attributes().get_string("mode", "DCR");
  if (size < 1 || size > (1 << 20)) return fail("blocksize is {}, want 1 or more", size);
  if (mode != "DCR" && mode != "CRD") return fail("mode is '{}', want DCR or CRD", mode);
  return Blocks{size, mode == "DCR"};
}

Status depth_to_space(KernelContext& context) {
  const auto [block, depth_first] = TRY(block_attributes(context));
  const Shape& x = context.input(0).shape;
  if (x[1] % (block * block) != 0) return fail("{} channels are not a multiple of {}^2", x[1], block);
  const int64_t channels = x[1] / (block * block);
  const Shape shape = {x[0], channels, TRY(checked_elements({x[2], block})),
                       TRY(checked_elements({x[3], block}))};
  if (depth_first) {
    return permute_as(context, {x[0], block, block, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, shape);
  }
  return permute_as(context, {x[0], channels, block, block, x[2], x[3]}, {0, 1, 4, 2, 5, 3}, shape);
}

Status space_to_depth(KernelContext& context) {
  const auto [block, depth_first] = TRY(block_attributes(context));
  const Shape& x = context.input(0).shape;
  if (x[2] % block != 0 || x[3] % block != 0) {
    return fail("shape {} does not divide into blocks of {}", print_shape(x), block);
  }
  const Shape seen = {x[0], x[1], x[2] / block, block, x[3] / block, block};
  const Shape shape = {x[0], TRY(checked_elements({x[1], block, block})), x[2] / block, x[3] / block};
  if (depth_first) return permute_as(context, seen, {0, 3, 5, 1, 2, 4}, shape);
  return permute_as(context, seen, {0, 1, 3, 5, 2, 4}, shape);
}

Status shape_of(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const Shape& shape = context.input(0).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = clamp(context.attributes().get_int("start", 0));
  const int64_t end = std::max(start, clamp(context.attributes().get_int("end", rank)));
  const TensorView y = TRY(context.output(0, DType::i64, {end - start}));
  std::copy(shape.begin() + start, shape.begin() + end, y.as<int64_t>().begin());
  return {};
}

Status size_of(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const TensorView y = TRY(context.output(0, DType::i64, {}));
  y.as<int64_t>()[0] = element_count(context.input(0).shape);
  return {};
}

constexpr KernelEntry movement_rows[] = {
    {"CenterCropPad", "", center_crop_pad},
    {"Concat", "", concat},
    {"Constant", "", constant},
    {"ConstantOfShape", "", constant_of_shape},
    {"DepthToSpace", "", depth_to_space},
    {"Expand", "", expand},
    {"EyeLike", "", eye_like},
    {"Flatten", "", flatten},
    {"Pad", "", pad},
    {"Range", "", range},
    {"Reshape", "", reshape},
    {"ReverseSequence", "", reverse_sequence},
    {"Shape", "", shape_of},
    {"Size", "", size_of},
    {"Slice", "", slice},
    {"SpaceToDepth", "", space_to_depth},
    {"Split", "", split},
    {"Squeeze", "", squeeze},
    {"Tile", "", tile},
    {"Transpose", "", transpose},
    {"Trilu", "", trilu},
    {"Unsqueeze", "", unsqueeze},
};

}  // namespace

std::span<const KernelEntry> movement_kernels() { return movement_rows; }

}  // namespace intarsia::reference
