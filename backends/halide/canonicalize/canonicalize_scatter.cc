// Operators that update elements at places which another input names.
#include <algorithm>
#include <array>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "base/window_attributes.h"

namespace intarsia::halide {
namespace {

/// Emits the scatter of the node's inputs. What only puts elements needs no arithmetic, and keeps their type.
Status scatter(Rewriter& r, CoreOp op, int64_t axis) {
  const std::string name = r.attributes().get_string("reduction", "none");
  const std::optional<Update> update = find_update(name);
  if (!update) return fail("{}: reduction is '{}', want none, add, mul, max or min", r.node().op, name);
  const DType indices = r.dtype(r.in(1)), stored = r.dtype(r.stored_in(0));
  if (indices != DType::i32 && indices != DType::i64)
    return fail("halide: {} wants i32 or i64 as input 1, got {}", r.node().op, dtype_name(indices));
  if (r.dtype(r.stored_in(2)) != stored)
    return fail("{} of {} in {}", r.node().op, dtype_name(r.dtype(r.stored_in(2))), dtype_name(stored));
  const bool puts = *update == Update::none;
  if (!puts && stored == DType::boolean) return fail("{} with reduction of bool", r.node().op);
  const ValueId data = puts ? r.stored_in(0) : r.in(0), updates = puts ? r.stored_in(2) : r.in(2);
  r.set_output(0, r.emit(op, {data, r.in(1), updates}, r.dtype(data), r.out_sizes(),
                         ScatterAttributes{axis, *update}));
  return {};
}

Status scatter_elements(Rewriter& r) {
  const SymbolicShape &data = r.sizes(r.in(0)), &indices = r.sizes(r.in(1)), &updates = r.sizes(r.in(2));
  const int64_t axis = TRY(r.axis(r.attributes().get_int("axis", 0), r.rank(r.in(0))));
  if (indices.size() != data.size() || updates != indices)
    return fail("{}: updates of shape {}, indices of shape {}, data of shape {}", r.node().op,
                print_shape(updates), print_shape(indices), print_shape(data));
  for (size_t i = 0; i < data.size(); ++i)
    if (static_cast<int64_t>(i) != axis)
      TRY(r.require(data[i] - indices[i], fmt::format("more indices than data along axis {}", i)));
  return scatter(r, CoreOp::scatter_elements, axis);
}

Status scatter_nd(Rewriter& r) {
  const SymbolicShape &data = r.sizes(r.in(0)), &indices = r.sizes(r.in(1)), &updates = r.sizes(r.in(2));
  if (indices.empty() || !indices.back().is_number()) return fail("ScatterND with tuples of an open size");
  const int64_t depth = indices.back().number();
  if (depth < 1 || depth > std::ssize(data))
    return fail("ScatterND with tuples of {} for data of shape {}", depth, print_shape(data));
  SymbolicShape wanted(indices.begin(), indices.end() - 1);
  wanted.insert(wanted.end(), data.begin() + depth, data.end());
  const auto are_equal = [](const Dim& a, const Dim& b) { return provably_equal(a, b); };
  if (!std::ranges::equal(updates, wanted, are_equal))
    return fail("ScatterND of updates {}, want {}", print_shape(updates), print_shape(wanted));
  return scatter(r, CoreOp::scatter_nd, 0);
}

/// Returns the sizes that a pool shrank, according to the node's attributes.
Result<SymbolicShape> unpooled_sizes(const Rewriter& r) {
  const SymbolicShape& x = r.sizes(r.in(0));
  const size_t axes = x.size() < 3 ? 0 : x.size() - 2;
  const std::vector<int64_t> kernel = r.attributes().get_ints("kernel_shape"),
                             strides = r.attributes().get_ints("strides", std::vector<int64_t>(axes, 1)),
                             pads = r.attributes().get_ints("pads", std::vector<int64_t>(2 * axes, 0));
  if (axes == 0 || kernel.size() != axes || strides.size() != axes || pads.size() != 2 * axes)
    return fail("MaxUnpool with attributes that do not fit rank {}", x.size());
  SymbolicShape sizes{x[0], x[1]};
  for (size_t i = 0; i < axes; ++i)
    sizes.push_back((x[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + axes]);
  return sizes;
}

/// Puts the elements of each plane into zeros, at places in the flattened tensor; the sizes that the node
/// asks for begin with it.
Status max_unpool(Rewriter& r) {
  const SymbolicShape sizes = TRY(unpooled_sizes(r)), &out = r.out_sizes();
  const ValueId x = r.stored_in(0);
  const DType dtype = r.dtype(x);
  if (r.dtype(r.in(1)) != DType::i64 || r.sizes(r.in(1)) != r.sizes(x))
    return fail("MaxUnpool with indices {}", print_shape(r.sizes(r.in(1))));
  const auto planes = [](const SymbolicShape& shape) {
    return SymbolicShape{product_of_dims(shape, 0, 2), product_of_dims(shape, 2, shape.size())};
  };
  const SymbolicShape from = planes(r.sizes(x));
  const ValueId y =
      r.emit(CoreOp::max_unpool, {r.reshape(x, from), r.reshape(r.in(1), from)}, dtype, planes(sizes));
  SymbolicShape kept = sizes;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!provably_equal(out[i], sizes[i]) && !(out[i].is_number() && sizes[i].is_number()))
      return fail("MaxUnpool to {} of {}", print_shape(out), print_shape(sizes));
    kept[i] = smaller_of(out[i], sizes[i]);
  }
  if (kept == sizes && sizes.size() == out.size() && std::ranges::equal(kept, out, provably_equal)) {
    r.set_output(0, r.reshape(y, sizes));
    return {};
  }
  const ValueId inside = slice(r, r.reshape(y, sizes), SymbolicShape(kept.size(), 0),
                               std::vector<int64_t>(kept.size(), 1), kept);
  r.set_output(0, r.emit(CoreOp::pad, {inside, r.add_scalar(0, dtype)}, dtype, out,
                         PadAttributes{SymbolicShape(kept.size(), 0), PadMode::constant}));
  return {};
}

/// Emits a Fold of images that a core's cache holds, with few taps: each is code of its own.
Status col2im(Rewriter& r) {
  constexpr int64_t most_taps = 64, most_in_image = 1 << 17;
  const Shape image = TRY(r.ints("", 1, {})), block = TRY(r.ints("", 2, {}));
  const SymbolicShape& x = r.sizes(r.in(0));
  if (image.empty() || block.size() != image.size() || x.size() != 3 || !is_float(r.dtype(r.in(0))))
    return fail("Col2Im of {} with blocks {} in an image {}", print_shape(x), print_shape(block),
                print_shape(image));
  const int64_t taps = TRY(checked_elements(block));
  if (taps < 1 || taps > most_taps || TRY(checked_elements(image)) > most_in_image)
    return fail("Col2Im with {} taps in an image {}", taps, print_shape(image));
  const WindowAttributes window = TRY(window_attributes(r.attributes(), image.size()));
  if (!window.is_padded_as_given()) return fail("Col2Im with auto_pad");
  const Shape windows = TRY(windows_of_image(image, block, window));
  if (!x[1].is_number() || x[1].number() % taps != 0 || x[2] != TRY(checked_elements(windows)))
    return fail("Col2Im of {} with blocks {}", print_shape(x), print_shape(block));
  SymbolicShape parts{x[0], x[1].number() / taps};
  parts.insert(parts.end(), block.begin(), block.end());
  parts.insert(parts.end(), windows.begin(), windows.end());
  const FoldAttributes attributes{
      window.strides, window.dilations, {window.pads.begin(), window.pads.begin() + std::ssize(image)}};
  r.set_output(0,
               r.emit(CoreOp::fold, {r.reshape(r.in(0), parts)}, r.out_dtype(), r.out_sizes(), attributes));
  return {};
}

constexpr std::array scatter_rule_list = std::to_array<RuleEntry>({
    {"Col2Im", col2im},
    {"MaxUnpool", max_unpool},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
});

}  // namespace

std::span<const RuleEntry> scatter_rules() { return scatter_rule_list; }

}  // namespace intarsia::halide
