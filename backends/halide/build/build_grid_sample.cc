// Samples of an image, or of a volume, between its elements: GridSample, and the taps of a DeformConv.
#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/math.h"

namespace intarsia::halide {
namespace {

using Halide::cast;
using Halide::clamp;
using Halide::select;

/// Element that a sample reads along an axis, and its weight.
struct GridTap {
  Expr place, weight;
  Expr inside;  // undefined where every place is inside
};

/// Axis of an image, and how places along it are found.
class GridAxis {
 public:
  /// Makes the axis; places and weights are computed in `type`.
  GridAxis(const GridSampleAttributes& rule, const Expr& size, Halide::Type type)
      : rule_(rule),
        type_(type),
        size_(size),
        last_(cast(type, size - 1)),
        edge_(rule.align_corners ? 0.0f : 0.5f) {}

  /// Returns the taps of a sample at a coordinate of -1 ... 1.
  std::vector<GridTap> taps(const Expr& coordinate) const { return taps_at(padded_place(coordinate)); }

  /// Returns the taps of a sample at a place in elements. NaN and what no integer holds are far outside.
  std::vector<GridTap> taps_at(const Expr& place) const {
    const Expr x = near(place), floor = Halide::floor(x), first = cast<int>(floor), part = x - floor;
    if (rule_.mode == "nearest") return {padded(first, 1.0f)};
    if (rule_.mode == "linear") return {padded(first, 1.0f - part), padded(first + 1, part)};
    const float a = -0.75f;
    const auto far = [a](const Expr& d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    const auto close = [a](const Expr& d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0f; };
    return {padded(first - 1, far(part + 1.0f)), padded(first, close(part)),
            padded(first + 1, close(1.0f - part)), padded(first + 2, far(2.0f - part))};
  }

 private:
  /// Mirrors at both ends until inside.
  Expr reflect(const Expr& x) const {
    const Expr low = -edge_, range = last_ + 2 * edge_, away = Halide::abs(x - low),
               times = Halide::floor(away / range), rest = away - times * range,
               is_even = cast<int>(times) % 2 == 0;
    return select(range > 0, select(is_even, rest, range - rest) + low, low);
  }

  static Expr near(const Expr& place) {
    return strictly({place}, [](const Exprs& in) { return select(Halide::abs(in[0]) < 1e9f, in[0], -1e9f); });
  }

  /// Returns a coordinate in elements, moved inside according to the padding.
  Expr padded_place(const Expr& coordinate) const {
    const Expr size = cast(type_, size_);
    Expr x =
        rule_.align_corners ? (coordinate + 1.0f) * 0.5f * last_ : ((coordinate + 1.0f) * size - 1.0f) * 0.5f;
    x = near(x);
    if (rule_.mode == "nearest") x = Halide::round(x);
    // The taps of a cubic are moved one by one, as in the PyTorch function that the operator is modeled on.
    if (rule_.padding_mode == "border" && rule_.mode != "cubic") return clamp(x, 0.0f, last_);
    if (rule_.padding_mode == "reflection") return select(x < -edge_ || x > last_ + edge_, reflect(x), x);
    return x;
  }

  GridTap padded(const Expr& place, const Expr& weight) const {
    const Expr inside = place >= 0 && place < size_;
    if (rule_.padding_mode == "zeros") return {clamp(place, 0, size_ - 1), weight, inside};
    const Expr moved = rule_.padding_mode == "reflection"
                           ? select(inside, place, cast<int>(reflect(cast(type_, place))))
                           : place;
    return {clamp(moved, 0, size_ - 1), weight, Expr()};
  }

  const GridSampleAttributes& rule_;
  const Halide::Type type_;
  const Expr size_, last_;
  const float edge_;
};

Expr both(const Expr& a, const Expr& b) { return !a.defined() ? b : !b.defined() ? a : a && b; }

}  // namespace

Expr build_grid_sample(KernelBuilder& b, const Node& node, const Exprs& index) {
  const GridSampleAttributes rule = attributes_of<GridSampleAttributes>(node);
  const SymbolicShape& sizes = b.sizes(node.inputs[0]);
  const Halide::Type type = b.type(node.outputs[0]), of_grid = b.type(node.inputs[1]);
  // A point lists its coordinates from the innermost axis outward.
  Exprs point{index[0]};
  point.insert(point.end(), index.begin() + 2, index.end());
  point.emplace_back(0);
  struct Corner {
    Exprs at;
    Expr weight, inside;
  };
  std::vector<Corner> corners{{{index[0], index[1]}, 1.0f, Expr()}};
  for (size_t axis = 2; axis < sizes.size(); ++axis) {
    point.back() = as_int(static_cast<int64_t>(sizes.size() - 1 - axis));
    const Expr coordinate = b.operand(node.inputs[1]).at(point);
    const GridAxis places(rule, b.size(sizes[axis]), of_grid);
    std::vector<Corner> next;
    for (const Corner& corner : corners)
      for (const GridTap& tap : places.taps(coordinate)) {
        next.push_back({corner.at, corner.weight * tap.weight, both(corner.inside, tap.inside)});
        next.back().at.push_back(tap.place);
      }
    corners = std::move(next);
  }
  Expr sum = Halide::Internal::make_zero(type);
  for (const Corner& corner : corners) {
    const Expr term = cast(type, corner.weight) * b.operand(node.inputs[0]).at(corner.at);
    sum += corner.inside.defined() ? select(corner.inside, term, Halide::Internal::make_zero(type)) : term;
  }
  return sum;
}

Expr build_deform_sample(KernelBuilder& b, const Node& node, const Exprs& index) {
  const DeformAttributes deform = attributes_of<DeformAttributes>(node);
  const SymbolicShape& sizes = b.sizes(node.inputs[0]);
  const Expr tap = index[3];
  const Expr taps[] = {tap / as_int(deform.kernel[1]), tap % as_int(deform.kernel[1])};
  const GridSampleAttributes linear;  // with zeros outside
  std::vector<std::vector<GridTap>> sides;
  for (size_t axis = 0; axis < 2; ++axis) {
    const Expr place = index[4 + axis] * as_int(deform.strides[axis]) - b.size(deform.pads[axis]) +
                       taps[axis] * as_int(deform.dilations[axis]),
               offset = b.operand(node.inputs[1])
                            .at({index[0], index[1], tap, static_cast<int>(axis), index[4], index[5]});
    const Halide::Type type = offset.type();
    sides.push_back(GridAxis(linear, b.size(sizes[3 + axis]), type).taps_at(cast(type, place) + offset));
  }
  const Halide::Type type = b.type(node.outputs[0]);
  Expr sum = Halide::Internal::make_zero(type);
  for (const GridTap& row : sides[0])
    for (const GridTap& column : sides[1]) {
      const Expr element =
          b.operand(node.inputs[0]).at({index[0], index[1], index[2], row.place, column.place});
      sum += select(row.inside && column.inside, row.weight * column.weight * element,
                    Halide::Internal::make_zero(type));
    }
  return sum;
}

}  // namespace intarsia::halide
