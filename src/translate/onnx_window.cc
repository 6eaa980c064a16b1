// Operators of ONNX that slide windows and have no kernel of their own: LpPool, GlobalLpPool, Col2Im,
// CausalConvWithState.
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/window_attributes.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Adds |x|^p, or with `inverse` the p-th root of a number that is not negative.
ValueId power(Translation& t, ValueId x, int64_t p, bool inverse) {
  const DType dtype = computed_type(t.dtype(0));
  if (p == 1) return inverse ? x : t.make("Abs", {x});
  if (p == 2) return inverse ? t.make("Sqrt", {x}) : t.make("Mul", {x, x});
  const double exponent = inverse ? 1 / static_cast<double>(p) : static_cast<double>(p);
  return t.make("Pow", {inverse ? x : t.make("Abs", {x}), t.make_scalar(dtype, exponent)});
}

Result<int64_t> read_p(const Translation& t) {
  const int64_t p = t.attributes().get_int("p", 2);
  if (p < 1 || p > most_in_window) return fail("p is {}", p);
  return p;
}

/// Returns pads that reach to the end of the last window where the number of windows is rounded up.
Result<std::vector<int64_t>> pads_of_ceiling(const Translation& t, const WindowAttributes& window,
                                             const Shape& kernel) {
  const SymbolicShape sizes = TRY(t.sizes(0));
  std::vector<int64_t> pads = window.pads;
  if (sizes.size() != kernel.size() + 2) return fail("a kernel of {} axes", kernel.size());
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (!sizes[i + 2].is_number()) return fail("windows rounded up on an open size");
    const int64_t in = sizes[i + 2].number(), extent = (kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t room = in + pads[i] + pads[kernel.size() + i] - extent, stride = window.strides[i];
    if (room < 0) return fail("a window of {} on an axis of {}", extent, in);
    int64_t last = (room + stride - 1) / stride * stride;
    if (last >= in + pads[i]) last -= stride;  // windows that start in the padding at the end do not count
    pads[kernel.size() + i] = std::max(last + extent - in - pads[i], int64_t{0});
  }
  return pads;
}

/// Translates LpPool: the root of the windows' sums, which are their means with zeros around the image, times
/// the elements of a window.
Status lp_pool(Translation& t) {
  const int64_t p = TRY(read_p(t));
  const std::vector<int64_t> kernel = t.attributes().get_ints("kernel_shape");
  if (kernel.empty() || TRY(t.rank(0)) != static_cast<int64_t>(kernel.size()) + 2)
    return fail("a kernel of {} axes for rank {}", kernel.size(), TRY(t.rank(0)));
  const WindowAttributes window = TRY(window_attributes(t.attributes(), kernel.size()));
  Translation::NamedAttributes attributes{{"kernel_shape", kernel},
                                          {"strides", window.strides},
                                          {"dilations", window.dilations},
                                          {"count_include_pad", int64_t{1}}};
  if (!window.is_padded_as_given())
    attributes.emplace_back("auto_pad", window.auto_pad);
  else if (t.attributes().get_int("ceil_mode", 0) != 0)
    attributes.emplace_back("pads", TRY(pads_of_ceiling(t, window, kernel)));
  else
    attributes.emplace_back("pads", window.pads);
  const ValueId mean = t.make("AveragePool", {power(t, t.computed(0), p, false)}, std::move(attributes));
  const DType dtype = computed_type(t.dtype(0));
  const auto count = static_cast<double>(TRY(checked_elements(kernel)));
  const ValueId y = power(t, t.make("Mul", {mean, t.make_scalar(dtype, count)}), p, true);
  t.give(0, dtype == t.dtype(0) ? y : t.cast(y, t.dtype(0)));
  return {};
}

Status global_lp_pool(Translation& t) {
  const int64_t p = TRY(read_p(t)), rank = TRY(t.rank(0));
  std::vector<int64_t> axes(static_cast<size_t>(std::max<int64_t>(rank - 2, 0)));
  std::iota(axes.begin(), axes.end(), 2);
  if (axes.empty()) return fail("of rank {}", rank);
  const ValueId y =
      power(t, t.make("ReduceSum", {power(t, t.computed(0), p, false), t.make_integers(axes)}), p, true);
  t.give(0, computed_type(t.dtype(0)) == t.dtype(0) ? y : t.cast(y, t.dtype(0)));
  return {};
}

/// A step of Col2Im along one axis: taps first ... first + count - 1 of all windows are neighbors of each
/// other.
struct Piece {
  int64_t first, count, offset;
};

/// Splits the taps of an axis into pieces that fill the image without overlaps: blocks of `stride` taps.
///   kernel 3, stride 2: taps 0 and 1 of all windows make a row of the image, taps 2 another that starts 2
///   later
std::vector<Piece> pieces_of(int64_t kernel, int64_t stride, int64_t dilation) {
  std::vector<Piece> pieces;
  const int64_t step = dilation == 1 ? stride : 1;
  for (int64_t first = 0; first < kernel; first += step)
    pieces.push_back({first, std::min(step, kernel - first), first * dilation});
  return pieces;
}

struct Columns {
  Shape image, block, windows;  // sizes of the image, of a window, and the number of windows
  WindowAttributes attributes;
};

Result<Columns> read_columns(const Translation& t) {
  Columns columns{.image = TRY(t.integers(1)), .block = TRY(t.integers(2))};
  const size_t rank = columns.image.size();
  if (rank == 0 || columns.block.size() != rank)
    return fail("blocks {} of an image {}", print_shape(columns.block), print_shape(columns.image));
  TRY(checked_elements(columns.image));
  if (TRY(checked_elements(columns.block)) == 0) return fail("blocks {}", print_shape(columns.block));
  columns.attributes = TRY(window_attributes(t.attributes(), rank));
  if (!columns.attributes.is_padded_as_given()) return fail("with auto_pad");
  columns.windows = TRY(windows_of_image(columns.image, columns.block, columns.attributes));
  return columns;
}

/// Places one piece in the image. `x`: [n, channels, taps of each axis, windows of each axis].
ValueId place_piece(Translation& t, const Columns& c, ValueId x, const std::vector<Piece>& piece) {
  const size_t rank = c.image.size();
  const auto spatial = static_cast<int64_t>(rank);
  std::vector<int64_t> first, end, axes, blocks(2 * (2 + 2 * rank), 0), order{0, 1}, rows{0, 0}, pads{0, 0};
  for (size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<int64_t>(i);
    first.push_back(piece[i].first), end.push_back(piece[i].first + piece[i].count), axes.push_back(2 + axis);
    blocks[2 + 2 * rank + 2 + i] = c.attributes.strides[i] - piece[i].count;  // zeros up to the next window
    order.insert(order.end(), {2 + spatial + axis, 2 + axis});
    rows.push_back(c.windows[i] * c.attributes.strides[i]);
    pads.push_back(piece[i].offset - c.attributes.pads[i]);
  }
  x = t.make("Slice", {x, t.make_integers(first), t.make_integers(end), t.make_integers(axes)});
  if (std::ranges::any_of(blocks, [](int64_t pad) { return pad != 0; }))
    x = t.make("Pad", {x, t.make_integers(blocks)});
  x = t.make("Reshape", {t.transpose(x, order), t.make_integers(rows)});
  pads.insert(pads.end(), {0, 0});
  for (size_t i = 0; i < rank; ++i) pads.push_back(c.image[i] - rows[2 + i] - pads[2 + i]);
  return t.make("Pad", {x, t.make_integers(pads)});
}

/// Translates Col2Im: a sum of images, each of which holds the pieces of all windows that do not overlap.
Status col2im(Translation& t) {
  constexpr size_t most_pieces = 64;
  const Columns c = TRY(read_columns(t));
  const SymbolicShape sizes = TRY(t.sizes(0));
  const int64_t taps = TRY(checked_elements(c.block));
  if (sizes.size() != 3 || !sizes[1].is_number() || sizes[1].number() % taps != 0 ||
      sizes[2] != TRY(checked_elements(c.windows)))
    return fail("columns {} for blocks {}", print_shape(sizes), print_shape(c.block));
  std::vector<int64_t> split{0, sizes[1].number() / taps};
  split.insert(split.end(), c.block.begin(), c.block.end());
  split.insert(split.end(), c.windows.begin(), c.windows.end());
  const ValueId x = t.make("Reshape", {t.computed(0), t.make_integers(split)});
  std::vector<std::vector<Piece>> combined{{}};
  for (size_t i = 0; i < c.block.size(); ++i) {
    std::vector<std::vector<Piece>> longer;
    for (const std::vector<Piece>& before : combined)
      for (const Piece& piece : pieces_of(c.block[i], c.attributes.strides[i], c.attributes.dilations[i])) {
        longer.push_back(before);
        longer.back().push_back(piece);
        if (longer.size() > most_pieces) return fail("windows that overlap more than {} times", most_pieces);
      }
    combined = std::move(longer);
  }
  std::vector<ValueId> images;
  for (const std::vector<Piece>& piece : combined) images.push_back(place_piece(t, c, x, piece));
  ValueId y = images[0];
  for (size_t i = 1; i < images.size(); ++i) y = t.make("Add", {y, images[i]});
  t.give(0, computed_type(t.dtype(0)) == t.dtype(0) ? y : t.cast(y, t.dtype(0)));
  return {};
}

/// Translates CausalConvWithState: a convolution of each channel over the carried elements and the new ones.
Status causal_conv_with_state(Translation& t) {
  const SymbolicShape x_sizes = TRY(t.sizes(0)), weights = TRY(t.sizes(1));
  if (x_sizes.size() != 3 || weights.size() != 3 || !weights[2].is_number() || !x_sizes[1].is_number() ||
      weights[0] != x_sizes[1] || weights[1] != 1)
    return fail("of {} by {}", print_shape(x_sizes), print_shape(weights));
  const std::string activation = t.attributes().get_string("activation", "none");
  const bool is_silu = activation == "silu" || activation == "swish";
  if (!is_silu && activation != "none") return fail("activation is '{}'", activation);
  const int64_t carried = weights[2].number() - 1;
  ValueId x = t.computed(0);
  if (t.has_input(3)) {
    if (carried > 0) x = t.make("Concat", {t.computed(3), x}, {{"axis", int64_t{2}}});
  } else {
    x = t.make("Pad", {x, t.make_integers({0, 0, carried, 0, 0, 0})});
  }
  const DType dtype = computed_type(t.dtype(0));
  const auto give = [&](size_t i, ValueId value) {
    t.give(i, dtype == t.dtype(0) ? value : t.cast(value, t.dtype(0)));
  };
  if (t.wants_output(1)) {
    if (carried < 1) return fail("a state of no elements");
    give(1, t.make("Slice", {x, t.make_integers({-carried}),
                             t.make_integers({std::numeric_limits<int64_t>::max()}), t.make_integers({2})}));
  }
  std::vector<ValueId> inputs{x, t.computed(1)};
  if (t.has_input(2)) inputs.push_back(t.computed(2));
  ValueId y = t.make("Conv", inputs, {{"group", x_sizes[1].number()}});
  if (is_silu) y = t.make("Mul", {y, t.make("Sigmoid", {y})});
  give(0, y);
  return {};
}

constexpr TranslationRow onnx_window_rows[] = {
    {"CausalConvWithState", causal_conv_with_state},
    {"Col2Im", col2im},
    {"GlobalLpPool", global_lp_pool},
    {"LpPool", lp_pool},
};

}  // namespace

std::span<const TranslationRow> window_decompositions() { return onnx_window_rows; }

}  // namespace intarsia
