// Data movement. Most of it becomes views, which cost nothing; where elements must move it becomes Copy, Pad
// or Tile.
#include <array>
#include <numeric>

#include "backends/halide/canonicalize/canonicalize_rules.h"

namespace intarsia::halide {
namespace {

/// Rewrites Reshape, Flatten, Squeeze and Unsqueeze, which the output's shape describes fully.
Status reshape(Rewriter& r) {
  r.set_output(0, r.reshape(r.in(0), r.out_sizes()));
  return {};
}

Status transpose(Rewriter& r) {
  std::vector<int64_t> perm(static_cast<size_t>(r.rank(r.in(0))));
  std::iota(perm.rbegin(), perm.rend(), 0);
  r.set_output(0, r.transpose(r.in(0), r.attributes().get_ints("perm", perm)));
  return {};
}

/// Returns the place of the first element that a slice takes of an axis; unknown if that of the start's sign
/// is.
Dim first_of_slice(const Dim& size, const Dim& start, int64_t step) {
  const Dim near = !start.is_number() ? start : std::clamp(start.number(), -max_elements, max_elements);
  const Dim last = step < 0 ? size - 1 : size;
  if (provably_nonnegative(near)) {
    // A slice that starts after the end takes nothing.
    return step > 0 && !size.is_number() ? near : smaller_of(near, last);
  }
  if (!provably_nonnegative(-1 - near)) return Dim::unknown();
  return larger_of(size + near, 0);
}

Status slice_rule(Rewriter& r) {
  const SymbolicShape from = r.sizes(r.in(0));
  const SymbolicShape starts = TRY(r.size_input("starts", 1));
  std::vector<int64_t> axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = TRY(r.ints("axes", 3, axes));
  std::vector<int64_t> steps = TRY(r.ints("", 4, std::vector<int64_t>(starts.size(), 1)));
  if (axes.size() != starts.size() || steps.size() != starts.size())
    return fail("Slice with {} starts, {} axes, {} steps", starts.size(), axes.size(), steps.size());
  SymbolicShape first(from.size(), 0);
  std::vector<int64_t> step(from.size(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<size_t>(TRY(r.axis(axes[i], r.rank(r.in(0)))));
    step[axis] = steps[i];
    first[axis] = first_of_slice(from[axis], starts[i], steps[i]);
  }
  r.set_output(0, slice(r, r.in(0), first, step, r.out_sizes()));
  return {};
}

Status split(Rewriter& r) {
  auto rank = static_cast<size_t>(r.rank(r.in(0)));
  auto axis = static_cast<size_t>(TRY(r.axis(r.attributes().get_int("axis", 0), static_cast<int64_t>(rank))));
  SymbolicShape starts(rank, 0);
  const std::vector<int64_t> steps(rank, 1);
  for (size_t i = 0; i < r.node().outputs.size(); ++i) {
    if (!has_output(r.node(), i)) return fail("Split with an omitted output is not supported");
    r.set_output(i, slice(r, r.in(0), starts, steps, r.out_sizes(i)));
    starts[axis] = starts[axis] + r.out_sizes(i)[axis];
  }
  return {};
}

Status expand(Rewriter& r) {
  SymbolicShape to = r.out_sizes(), from = r.sizes(r.in(0));
  from.insert(from.begin(), to.size() - from.size(), 1);
  ValueId aligned = r.reshape(r.in(0), from);
  r.set_output(0, from == to ? aligned : r.emit(CoreOp::expand, {aligned}, r.dtype(aligned), to));
  return {};
}

/// Rewrites Concat, whose only parameter is the axis. A single input that is not empty is the output itself.
Status concat(Rewriter& r) {
  int64_t axis = TRY(r.axis(r.attributes().get_int("axis", 1), static_cast<int64_t>(r.out_sizes().size())));
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < r.node().inputs.size(); ++i)
    if (product_of_dims(r.sizes(r.in(i)), 0, r.sizes(r.in(i)).size()) != 0) inputs.push_back(r.in(i));
  if (inputs.size() == 1) {
    r.set_output(0, inputs[0]);
    return {};
  }
  r.set_output(0, r.emit(CoreOp::concat, inputs, r.out_dtype(), r.out_sizes(), AxisAttributes{axis}));
  return {};
}

/// Rewrites a Pad, whose padding by less than 0 crops, before anything is filled.
Status pad_axes(Rewriter& r, PadMode mode, SymbolicShape begin, ValueId fill) {
  const SymbolicShape from = r.sizes(r.in(0)), to = r.out_sizes();
  const bool is_constant = mode == PadMode::constant;
  const Dim elements = product_of_dims(to, 0, to.size());
  SymbolicShape first(from.size(), 0), kept = from;
  for (size_t i = 0; i < from.size(); ++i) {
    if (begin[i] == 0 && from[i] == to[i]) continue;
    const Dim end = to[i] - from[i] - begin[i];
    first[i] = larger_of(0 - begin[i], 0);
    const Dim rest = from[i] - first[i] - larger_of(0 - end, 0);
    TRY(r.require(larger_of(is_constant ? rest : rest - 1, 0 - elements),
                  fmt::format("axis {} has too few elements", i)));
    // Where more is cropped than there is, nothing is left of the result, either.
    kept[i] = larger_of(rest, 0);
    if (!is_constant) begin[i] = larger_of(begin[i], 0);
  }
  // What fills is found in what is left.
  const ValueId x = is_constant || kept == from
                        ? r.in(0)
                        : slice(r, r.in(0), first, std::vector<int64_t>(from.size(), 1), kept);
  r.set_output(0, r.emit(CoreOp::pad, {x, fill}, r.out_dtype(), to, PadAttributes{begin, mode}));
  return {};
}

Status pad(Rewriter& r) {
  const SymbolicShape from = r.sizes(r.in(0));
  const std::string mode_name = r.attributes().get_string("mode", "constant");
  const std::optional<PadMode> mode = find_pad_mode(mode_name);
  if (!mode) return fail("Pad mode {} is not supported", mode_name);
  std::vector<int64_t> given = TRY(r.ints("pads", 1, {})), axes(given.size() / 2);
  std::iota(axes.begin(), axes.end(), 0);
  axes = TRY(r.ints("", 3, axes));
  if (given.size() != 2 * axes.size()) return fail("Pad with {} pads for {} axes", given.size(), axes.size());
  SymbolicShape begin(from.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i)
    begin[static_cast<size_t>(TRY(r.axis(axes[i], r.rank(r.in(0)))))] = given[i];
  ValueId fill = r.has_input(2) ? r.reshape(r.in(2), {})
                                : r.add_scalar(r.attributes().get_float("value", 0), r.dtype(r.in(0)));
  return pad_axes(r, *mode, std::move(begin), fill);
}

Status tile(Rewriter& r) {
  r.set_output(0, r.emit(CoreOp::tile, {r.in(0)}, r.out_dtype(), r.out_sizes()));
  return {};
}

Status depth_to_space(Rewriter& r) {
  const SymbolicShape s = r.sizes(r.in(0)), out = r.out_sizes();
  int64_t b = r.attributes().get_int("blocksize", 1);
  bool columns = r.attributes().get_string("mode", "DCR") == "CRD";
  SymbolicShape six =
      columns ? SymbolicShape{s[0], out[1], b, b, s[2], s[3]} : SymbolicShape{s[0], b, b, out[1], s[2], s[3]};
  std::vector<int64_t> perm =
      columns ? std::vector<int64_t>{0, 1, 4, 2, 5, 3} : std::vector<int64_t>{0, 3, 4, 1, 5, 2};
  r.set_output(0, r.reshape(r.transpose(r.reshape(r.in(0), six), perm), out));
  return {};
}

Status space_to_depth(Rewriter& r) {
  const SymbolicShape s = r.sizes(r.in(0)), out = r.out_sizes();
  int64_t b = r.attributes().get_int("blocksize", 1);
  for (size_t axis : {2, 3})
    TRY(r.require(b * out[axis] - s[axis], fmt::format("axis {} has no whole number of blocks", axis)));
  ValueId six = r.reshape(r.in(0), {s[0], s[1], out[2], b, out[3], b});
  const bool channel_first = r.attributes().get_string("mode", "DCR") == "CRD";
  const std::vector<int64_t> order =
      channel_first ? std::vector<int64_t>{0, 1, 3, 5, 2, 4} : std::vector<int64_t>{0, 3, 5, 1, 2, 4};
  r.set_output(0, r.reshape(r.transpose(six, order), out));
  return {};
}

/// Computes Shape and Size, which are known at compile time.
Status shape_operator(Rewriter& r) {
  Shape shape = r.shape(r.in(0));
  Tensor tensor(DType::i64, r.out_shape());
  int64_t start = r.attributes().get_int("start", 0), rank = static_cast<int64_t>(shape.size());
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  if (r.node().op == "Size")
    tensor.as<int64_t>()[0] = element_count(shape);
  else
    for (size_t i = 0; i < tensor.as<int64_t>().size(); ++i)
      tensor.as<int64_t>()[i] = shape[i + static_cast<size_t>(start)];
  r.set_output(0, r.add_constant(tensor));
  return {};
}

Status constant_of_shape(Rewriter& r) {
  const Tensor* given = r.attributes().get_tensor("value");
  ValueId number = given ? r.add_constant(*given) : r.add_scalar(0, DType::f32);
  ValueId aligned = r.reshape(number, SymbolicShape(r.out_sizes().size(), 1));
  r.set_output(
      0, r.out_sizes().empty() ? aligned : r.emit(CoreOp::expand, {aligned}, r.out_dtype(), r.out_sizes()));
  return {};
}

/// Rewrites a Range of integers that follow from sizes.
Status range(Rewriter& r) {
  const DType dtype = r.out_dtype();
  if (dtype != DType::i64 && dtype != DType::i32)
    return fail("Range of {} is not supported", dtype_name(dtype));
  const SymbolicShape start = TRY(r.size_input("", 0)), step = TRY(r.size_input("", 2));
  if (start.size() != 1 || step.size() != 1 || !step[0].is_number())
    return fail("Range by a step not known at compile time");
  r.set_output(0,
               r.emit(CoreOp::range, {}, dtype, r.out_sizes(), RangeAttributes{start[0], step[0].number()}));
  return {};
}

constexpr std::array movement_rule_list = std::to_array<RuleEntry>({
    {"Reshape", reshape},
    {"Flatten", reshape},
    {"Squeeze", reshape},
    {"Unsqueeze", reshape},
    {"Transpose", transpose},
    {"Slice", slice_rule},
    {"Split", split},
    {"Expand", expand},
    {"Concat", concat},
    {"Pad", pad},
    {"Tile", tile},
    {"DepthToSpace", depth_to_space},
    {"SpaceToDepth", space_to_depth},
    {"Shape", shape_operator},
    {"Size", shape_operator},
    {"ConstantOfShape", constant_of_shape},
    {"Range", range},
});

}  // namespace

std::span<const RuleEntry> movement_rules() { return movement_rule_list; }

ValueId slice(Rewriter& r, ValueId from, SymbolicShape starts, std::vector<int64_t> steps,
              SymbolicShape sizes) {
  return r.emit(CoreOp::slice, {from}, r.dtype(from), std::move(sizes),
                SliceAttributes{std::move(starts), std::move(steps)});
}

}  // namespace intarsia::halide
