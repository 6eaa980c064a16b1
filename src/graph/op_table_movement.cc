#include <algorithm>
#include <map>

#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

/// Returns whole / part; fails if the division is impossible.
Result<Dim> divide_products(const Dim& whole, const Dim& part) {
  if (part == 0) return fail("a size of 0 next to -1");
  if (whole.is_number() && part.is_number() && whole.number() % part.number() != 0)
    return fail("{} elements cannot be divided by {}", whole.number(), part.number());
  return floor_div(whole, part);
}

/// Returns the sizes that Reshape asks for; 0 copies the input's, -1 stands for the remaining elements.
Result<SymbolicShape> reshape_to(const SymbolicShape* from, const SymbolicShape& wanted, bool allow_zero) {
  SymbolicShape shape;
  std::optional<size_t> open;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].is_number() && wanted[i].number() < -1)
      return fail("size {} in {}", wanted[i].number(), print_shape(wanted));
    if (wanted[i] == -1) {
      if (open) return fail("more than one size is -1 in {}", print_shape(wanted));
      open = i;
      shape.push_back(Dim(1));
    } else if (wanted[i] == 0 && !allow_zero) {
      if (from != nullptr && i >= from->size()) {
        return fail("size {} is 0 (copied), but the input has rank {}", i, from->size());
      }
      shape.push_back(from != nullptr ? (*from)[i] : Dim::unknown());
    } else {
      shape.push_back(wanted[i]);
    }
  }
  const Dim whole = from != nullptr ? product_of_dims(*from, 0, from->size()) : Dim::unknown();
  const Dim part = product_of_dims(shape, 0, shape.size());
  if (open) {
    shape[*open] = TRY(with_context(divide_products(whole, part), "shape {}", print_shape(wanted)));
  } else if ((whole - part).is_number() && whole != part) {
    return fail("shape {} does not hold the elements of {}", print_shape(wanted), print_shape(*from));
  }
  return shape;
}

Status reshape(ShapeContext& context) {
  const SizesArgument wanted = sizes_argument(context, "shape", 1);
  if (!wanted.given) return fail("the shape is missing");
  if (wanted.values) {
    const bool allow_zero = context.attributes().get_int("allowzero", 0) != 0;
    return set_shape(context, TRY(reshape_to(context.shape(0), *wanted.values, allow_zero)));
  }
  return set_shape(context, TRY(shape_from_input(context, 1)));
}

Status flatten(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return set_shape(context, unknown_dims(2));
  const auto rank = static_cast<int64_t>(x->size());
  int64_t axis = context.attributes().get_int("axis", 1);
  if (axis < -rank || axis > rank) return fail("axis {} is out of range for rank {}", axis, rank);
  if (axis < 0) axis += rank;
  const auto at = static_cast<size_t>(axis);
  return set_shape(context, SymbolicShape{product_of_dims(*x, 0, at), product_of_dims(*x, at, x->size())});
}

/// Removes all sizes of 1, as Squeeze does without axes; nullopt unless all sizes are known.
OptionalShape squeeze_ones(const SymbolicShape& x) {
  if (!static_shape(x)) return std::nullopt;
  SymbolicShape result = x;
  std::erase(result, Dim(1));
  return result;
}

Status squeeze(ShapeContext& context) {
  const IntsArgument axes = ints_argument(context, "axes", 1);
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr || (axes.given && !axes.values)) return set_shape(context, std::nullopt);
  if (!axes.given) return set_shape(context, squeeze_ones(*x));
  std::vector<bool> drop(x->size());
  for (int64_t axis : TRY(normalize_axes(*axes.values, x->size()))) {
    const Dim& dim = (*x)[static_cast<size_t>(axis)];
    if (dim.is_number() && dim != 1) {
      return fail("axis {} of {} has size {}, want 1", axis, print_shape(*x), dim.number());
    }
    drop[static_cast<size_t>(axis)] = true;
  }
  SymbolicShape result;
  for (size_t i = 0; i < x->size(); ++i) {
    if (!drop[i]) result.push_back((*x)[i]);
  }
  return set_shape(context, result);
}

Status unsqueeze(ShapeContext& context) {
  const IntsArgument axes = ints_argument(context, "axes", 1);
  if (!axes.given) return fail("the axes are missing");
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr || !axes.values) return set_shape(context, std::nullopt);
  const size_t rank = x->size() + axes.values->size();
  std::vector<bool> added(rank);
  for (int64_t axis : TRY(normalize_axes(*axes.values, rank))) added[static_cast<size_t>(axis)] = true;
  SymbolicShape result;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) result.push_back(added[i] ? Dim(1) : (*x)[next++]);
  return set_shape(context, result);
}

Status transpose(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return set_shape(context, std::nullopt);
  SymbolicShape result;
  if (!context.attributes().has("perm")) {
    result.assign(x->rbegin(), x->rend());
    return set_shape(context, result);
  }
  const std::vector<int64_t> perm = TRY(normalize_axes(context.attributes().get_ints("perm"), x->size()));
  if (perm.size() != x->size()) return fail("perm has {} axes, the input has {}", perm.size(), x->size());
  for (int64_t axis : perm) result.push_back((*x)[static_cast<size_t>(axis)]);
  return set_shape(context, result);
}

Status concat(ShapeContext& context) {
  OptionalShape result = input_shape(context, 0);
  for (size_t i = 1; result && i < context.input_count(); ++i) {
    const SymbolicShape* x = context.shape(i);
    if (x == nullptr) return set_shape(context, std::nullopt);
    if (x->size() != result->size()) {
      return fail("input {} has shape {}, input 0 {}", i, print_shape(*x), print_shape(*context.shape(0)));
    }
    const int64_t axis = TRY(normalize_axis(context.attributes().get_int("axis", 1), x->size()));
    for (size_t k = 0; k < x->size(); ++k) {
      Dim& dim = (*result)[k];
      dim = static_cast<int64_t>(k) == axis
                ? dim + (*x)[k]
                : TRY(with_context(merge_dim(dim, (*x)[k]), "input {}, axis {}", i, k));
    }
  }
  if (result) TRY(normalize_axis(context.attributes().get_int("axis", 1), result->size()));
  return set_shape(context, result);
}

/// Returns the sizes of the parts of an axis; unknown ones if the argument or the axis is unknown.
Result<SymbolicShape> split_sizes(ShapeContext& context, const Dim& size) {
  const size_t count = context.output_count();
  const SizesArgument given = sizes_argument(context, "split", 1);
  if (given.given && !given.values) return unknown_dims(count);
  if (given.given) {
    if (given.values->size() != count) return fail("{} parts for {} outputs", given.values->size(), count);
    Dim sum = 0;
    for (const Dim& part : *given.values) {
      const bool is_numbers = sum.is_number() && part.is_number();
      if (is_numbers && (part.number() < 0 || !(sum + part).is_known()))
        return fail("a part of size {}", part.number());
      sum = sum + part;
    }
    if (size.is_number() && sum.is_number() && size != sum) {
      return fail("the parts add up to {}, the axis has size {}", sum.number(), size.number());
    }
    return *given.values;
  }
  const int64_t parts = context.attributes().get_int("num_outputs", static_cast<int64_t>(count));
  if (parts < 1 || static_cast<size_t>(parts) != count) {
    return fail("num_outputs is {}, the node has {} outputs", parts, count);
  }
  const Dim chunk = ceil_div(size, parts);
  SymbolicShape sizes;
  for (int64_t i = 0; i < parts; ++i) sizes.push_back(smaller_of(larger_of(size - i * chunk, 0), chunk));
  return sizes;
}

Status split(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) {
    for (size_t i = 0; i < context.output_count(); ++i) context.set_output(i, context.dtype(0));
    return {};
  }
  SymbolicShape shape = *x;
  const auto axis =
      static_cast<size_t>(TRY(normalize_axis(context.attributes().get_int("axis", 0), x->size())));
  const SymbolicShape sizes = TRY(split_sizes(context, shape[axis]));
  for (size_t i = 0; i < sizes.size(); ++i) {
    shape[axis] = sizes[i];
    context.set_output(i, context.dtype(0), shape);
  }
  return {};
}

Status expand(ShapeContext& context) {
  const OptionalShape wanted = TRY(shape_from_input(context, 1));
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr || !wanted) return set_shape(context, std::nullopt);
  return set_shape(context, TRY(broadcast_symbolic(*x, *wanted)));
}

Status tile(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return set_shape(context, std::nullopt);
  const std::optional<SymbolicShape> repeats = context.elements(1);
  if (!repeats) return set_shape(context, unknown_dims(x->size()));
  if (repeats->size() != x->size()) return fail("{} repeats for the rank {}", repeats->size(), x->size());
  SymbolicShape result;
  for (size_t i = 0; i < x->size(); ++i) {
    const Dim& repeat = (*repeats)[i];
    if (repeat.is_number() && repeat.number() < 0) return fail("repeat {} is negative", repeat.number());
    result.push_back((*x)[i] * repeat);
  }
  return set_shape(context, result);
}

/// Returns the number of elements that start:end:step takes of an axis, where one of the others is not a
/// number. Positions below 0 count from the end; unknown if the sign is.
Dim open_slice(const Dim& start, const Dim& end, int64_t step, const Dim& dim) {
  // End of slices up to the end, or more; an open axis is no longer than its limit.
  const int64_t all = dim.symbol() != nullptr ? SizeRange::limit : 0x7fffffff;
  const Dim first = step > 0 ? 0 : -1, last = first + dim;  // places that an index is clamped to
  const auto position = [&](const Dim& at, const Dim& least) {
    if (at.is_number() && at.number() >= all) return last;
    if (at.is_number() && at.number() <= -all) return smaller_of(least, last);
    if (provably_nonnegative(at)) return smaller_of(at, last);
    return provably_nonnegative(-1 - at) ? smaller_of(larger_of(dim + at, least), last) : Dim::unknown();
  };
  // A start before the axis is its first element, whichever way the slice goes.
  const Dim from = position(start, 0), to = position(end, first), length = step > 0 ? to - from : from - to;
  return ceil_div(larger_of(length, 0), std::min(std::abs(std::max(step, -all)), all));
}

/// Returns the number of elements that start:end:step takes of an axis of known size, clamped as in numpy.
Dim slice_numbers(int64_t start, int64_t end, int64_t step, const Dim& dim) {
  constexpr int64_t far = int64_t{1} << 60;
  const int64_t size = dim.number();
  if (size == 0 || size > far) return size == 0 ? dim : Dim::unknown();
  step = std::clamp(step, -far, far);
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? size : size - 1;
  start = std::clamp<int64_t>(start < 0 ? start + size : start, 0, high);
  end = std::clamp(end < 0 ? end + size : end, low, high);
  const int64_t length = step > 0 ? end - start : start - end;
  return Dim(length <= 0 ? 0 : (length - 1) / std::abs(step) + 1);
}

Dim slice_size(const Dim& start, const Dim& end, int64_t step, const Dim& dim) {
  if (start.is_number() && end.is_number() && dim.is_number())
    return slice_numbers(start.number(), end.number(), step, dim);
  return open_slice(start, end, step, dim);
}

struct SliceArguments {
  SizesArgument starts, ends;
  IntsArgument axes, steps;
};

Result<SymbolicShape> slice_known(const SliceArguments& arguments, const SymbolicShape& x) {
  const size_t count = arguments.axes.values->size();
  const auto fits = [&](const auto& list) { return !list.values || list.values->size() == count; };
  if (!fits(arguments.starts) || !fits(arguments.ends) || !fits(arguments.steps)) {
    return fail("starts, ends, axes and steps differ in length");
  }
  SymbolicShape result = x;
  const std::vector<int64_t> axes = TRY(normalize_axes(*arguments.axes.values, x.size()));
  for (size_t i = 0; i < count; ++i) {
    Dim& dim = result[static_cast<size_t>(axes[i])];
    if (!arguments.starts.values || !arguments.ends.values ||
        (arguments.steps.given && !arguments.steps.values)) {
      dim = Dim::unknown();
      continue;
    }
    const int64_t step = arguments.steps.given ? (*arguments.steps.values)[i] : 1;
    if (step == 0) return fail("a step is 0");
    dim = slice_size((*arguments.starts.values)[i], (*arguments.ends.values)[i], step, dim);
  }
  return result;
}

Status slice(ShapeContext& context) {
  SliceArguments arguments{sizes_argument(context, "starts", 1), sizes_argument(context, "ends", 2),
                           ints_argument(context, "axes", 3), ints_argument(context, "steps", 4)};
  if (!arguments.starts.given || !arguments.ends.given) return fail("starts or ends are missing");
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return set_shape(context, std::nullopt);
  if (!arguments.axes.given) {
    const auto& known = arguments.starts.values ? arguments.starts.values : arguments.ends.values;
    if (known) {
      arguments.axes.values.emplace();
      for (size_t i = 0; i < known->size(); ++i) arguments.axes.values->push_back(static_cast<int64_t>(i));
    }
  }
  if (!arguments.axes.values) return set_shape(context, unknown_dims(x->size()));
  return set_shape(context, TRY(slice_known(arguments, *x)));
}

Status pad(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  const SizesArgument pads = sizes_argument(context, "pads", 1);
  if (!pads.given) return fail("pads are missing");
  if (x == nullptr) return set_shape(context, std::nullopt);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x->size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (context.has_input(3)) {
    const std::optional<std::vector<int64_t>> given = context.known_ints(3);
    if (!given) return set_shape(context, unknown_dims(x->size()));
    axes = TRY(normalize_axes(*given, x->size()));
  }
  SymbolicShape result = *x;
  if (pads.values && pads.values->size() != 2 * axes.size()) {
    return fail("{} pads for {} axes, want two per axis", pads.values->size(), axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = result[static_cast<size_t>(axes[i])];
    if (!pads.values) {
      dim = Dim::unknown();
      continue;
    }
    const Dim &before = (*pads.values)[i], &after = (*pads.values)[axes.size() + i];
    const Dim added = before + after;
    if (before.is_number() && after.is_number() && !added.is_number())
      return fail("pads of axis {} are absurd", axes[i]);
    const Dim size = dim + added;
    if (dim.is_number() && added.is_number() && (!size.is_number() || size.number() < 0))
      return fail("pads {} for the axis {} of size {}", added.number(), axes[i], dim.number());
    dim = size;
  }
  return set_shape(context, result);
}

Status center_crop_pad(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return set_shape(context, std::nullopt);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x->size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (context.attributes().has("axes")) {
    axes = TRY(normalize_axes(context.attributes().get_ints("axes"), x->size()));
  }
  const OptionalShape sizes = TRY(shape_from_input(context, 1));
  if (sizes && sizes->size() != axes.size()) return fail("{} sizes for {} axes", sizes->size(), axes.size());
  SymbolicShape result = *x;
  for (size_t i = 0; i < axes.size(); ++i) {
    result[static_cast<size_t>(axes[i])] = sizes ? (*sizes)[i] : Dim::unknown();
  }
  return set_shape(context, result);
}

Result<int64_t> block_size(const ShapeContext& context) {
  TRY(require_rank(context, 0, 4, 4));
  const int64_t size = context.attributes().get_int("blocksize", 0);
  if (size < 1 || size > (1 << 20)) return fail("blocksize is {}, want 1 or more", size);
  return size;
}

Result<Dim> divide_dim(const Dim& dim, int64_t by) {
  if (dim.is_number() && dim.number() % by != 0)
    return fail("size {} is not a multiple of {}", dim.number(), by);
  return floor_div(dim, by);
}

Status depth_to_space(ShapeContext& context) {
  const int64_t block = TRY(block_size(context));
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return set_shape(context, unknown_dims(4));
  return set_shape(context, SymbolicShape{(*x)[0], TRY(divide_dim((*x)[1], block * block)), (*x)[2] * block,
                                          (*x)[3] * block});
}

Status space_to_depth(ShapeContext& context) {
  const int64_t block = TRY(block_size(context));
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) return set_shape(context, unknown_dims(4));
  return set_shape(context, SymbolicShape{(*x)[0], (*x)[1] * (block * block), TRY(divide_dim((*x)[2], block)),
                                          TRY(divide_dim((*x)[3], block))});
}

Status shape_of(ShapeContext& context) {
  const SymbolicShape* x = context.shape(0);
  if (x == nullptr) {
    context.set_output(0, DType::i64, unknown_dims(1));
    return {};
  }
  const AxisRange axes = axes_of_shape(context, x->size());
  context.set_output(0, DType::i64, SymbolicShape{Dim(static_cast<int64_t>(axes.last - axes.first))});
  return {};
}

Status size_of(ShapeContext& context) {
  context.set_output(0, DType::i64, SymbolicShape{});
  return {};
}

Status constant(ShapeContext& context) {
  const Attributes& attributes = context.attributes();
  const auto list = [&](DType dtype, size_t size) -> Status {
    context.set_output(0, dtype, SymbolicShape{Dim(static_cast<int64_t>(size))});
    return {};
  };
  if (const Tensor* value = attributes.get_tensor("value")) {
    context.set_output(0, value->dtype(), to_symbolic(value->shape()));
    return {};
  }
  if (attributes.has("value_floats")) return list(DType::f32, attributes.get_floats("value_floats").size());
  if (attributes.has("value_ints")) return list(DType::i64, attributes.get_ints("value_ints").size());
  if (attributes.has("value_strings"))
    return list(DType::string, attributes.get_strings("value_strings").size());
  DType dtype = DType::undefined;
  if (attributes.has("value_float")) dtype = DType::f32;
  if (attributes.has("value_int")) dtype = DType::i64;
  if (attributes.has("value_string")) dtype = DType::string;
  if (dtype == DType::undefined) {  // sparse_value
    context.set_output(0, dtype);
  } else {
    context.set_output(0, dtype, SymbolicShape{});
  }
  return {};
}

Status constant_of_shape(ShapeContext& context) {
  const Tensor* value = context.attributes().get_tensor("value");
  context.set_output(0, value != nullptr ? value->dtype() : DType::f32, TRY(shape_from_input(context, 0)));
  return {};
}

/// Returns the number of elements from `start` to `limit` of which one is not a number.
Dim open_range(const ShapeContext& context) {
  const auto start = context.elements(0), limit = context.elements(1), delta = context.elements(2);
  if (!start || !limit || !delta || !delta->front().is_number()) return Dim::unknown();
  const Dim& step = delta->front();
  const bool is_forward = step.number() > 0;
  const Dim length = is_forward ? limit->front() - start->front() : start->front() - limit->front();
  return larger_of(ceil_div(length, is_forward ? step : 0 - step), 0);
}

/// Infers Range; the size is known only for integers, since floats would have to be computed in their own
/// precision.
Status range(ShapeContext& context) {
  const std::optional<int64_t> start = known_int(context, 0);
  const std::optional<int64_t> limit = known_int(context, 1);
  const std::optional<int64_t> delta = known_int(context, 2);
  if (delta == 0) return fail("delta is 0");
  Dim size = start && limit && delta ? Dim::unknown() : open_range(context);
  if (start && limit && delta) {
    const __int128 length = static_cast<__int128>(*limit) - *start;
    const __int128 step = *delta;
    const bool forward = (length > 0) == (step > 0) && length != 0;
    const __int128 count = forward ? (length + step + (step > 0 ? -1 : 1)) / step : 0;
    if (count <= int64_t{1} << 48) size = Dim(static_cast<int64_t>(count));
  }
  return set_shape(context, SymbolicShape{size});
}

Status eye_like(ShapeContext& context) {
  TRY(require_rank(context, 0, 2, 2));
  context.set_output(0, TRY(dtype_attribute(context, "dtype", context.dtype(0))), input_shape(context, 0));
  return {};
}

/// Checks for a rank of 2 or more, and keeps type and shape.
Status same_as_matrix(ShapeContext& context) {
  TRY(require_rank(context, 0, 2));
  return same_as_input(context);
}

constexpr OpInfo movement_rows[] = {
    {"CenterCropPad", "", 2, 2, 1, 1, center_crop_pad},
    {"Concat", "", 1, -1, 1, 1, concat},
    {"Constant", "", 0, 0, 1, 1, constant},
    {"ConstantOfShape", "", 1, 1, 1, 1, constant_of_shape},
    {"DepthToSpace", "", 1, 1, 1, 1, depth_to_space},
    {"Expand", "", 2, 2, 1, 1, expand},
    {"EyeLike", "", 1, 1, 1, 1, eye_like},
    {"Flatten", "", 1, 1, 1, 1, flatten},
    {"Pad", "", 1, 4, 1, 1, pad},
    {"Range", "", 3, 3, 1, 1, range},
    {"Reshape", "", 1, 2, 1, 1, reshape},
    {"ReverseSequence", "", 2, 2, 1, 1, same_as_matrix},
    {"Shape", "", 1, 1, 1, 1, shape_of},
    {"Size", "", 1, 1, 1, 1, size_of},
    {"Slice", "", 1, 5, 1, 1, slice},
    {"SpaceToDepth", "", 1, 1, 1, 1, space_to_depth},
    {"Split", "", 1, 2, 1, -1, split},
    {"Squeeze", "", 1, 2, 1, 1, squeeze},
    {"Tile", "", 2, 2, 1, 1, tile},
    {"Transpose", "", 1, 1, 1, 1, transpose},
    {"Trilu", "", 1, 2, 1, 1, same_as_matrix},
    {"Unsqueeze", "", 1, 2, 1, 1, unsqueeze},
};

}  // namespace

std::span<const OpInfo> movement_ops() { return movement_rows; }

}  // namespace intarsia
