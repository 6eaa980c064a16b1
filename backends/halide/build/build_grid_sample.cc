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
  Expr place;  // -1: outside, where elements are zeros
  Expr weight;
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
    if (rule_.padding_mode == "zeros") return {select(inside, clamp(place, 0, size_ - 1), -1), weight};
    const Expr moved = rule_.padding_mode == "reflection"
                           ? select(inside, place, cast<int>(reflect(cast(type_, place))))
                           : place;
    return {clamp(moved, 0, size_ - 1), weight};
  }

  const GridSampleAttributes& rule_;
  const Halide::Type type_;
  const Expr size_, last_;
  const float edge_;
};

/// Taps of the points of an output along the axes of an image, in the order of the axes.
using Taps = std::vector<std::vector<GridTap>>;

/// Returns the taps of a point, whose index lists the outermost axis first. All points are computed once, as
/// all channels read at the same places; on a device each work item computes what it needs.
Taps share_taps(const KernelBuilder& b, const Exprs& point,
                const std::function<Taps(const Exprs&)>& taps_of) {
  if (b.mapping() != Mapping::loops) return taps_of(point);
  const std::vector<Var> vars = make_vars(point.size(), "p");
  const Taps taps = taps_of(to_exprs(vars));
  const std::vector<Var> inner_first(vars.rbegin(), vars.rend());
  const Exprs at(point.rbegin(), point.rend());
  Taps shared;
  const auto share = [&](const Expr& value) {
    if (Halide::Internal::is_const(value)) return value;
    Func table("table");
    table(inner_first) = value;
    table.compute_root().vectorize(inner_first[0], b.lanes(), Halide::TailStrategy::GuardWithIf);
    if (b.kernel().threads > 1 && inner_first.size() > 1) table.parallel(inner_first[1]);
    return Expr(table(at));
  };
  for (const std::vector<GridTap>& axis : taps) {
    shared.emplace_back();
    for (const GridTap& tap : axis) shared.back().push_back({share(tap.place), share(tap.weight)});
  }
  return shared;
}

/// Returns the weighted sum of the elements at all combinations of a tap for each axis; `at` is the index of
/// the axes before those.
Expr sum_of_taps(KernelBuilder& b, ValueId image, const Exprs& at, const Taps& taps, bool has_zeros) {
  const Halide::Type type = b.type(image);
  struct Corner {
    Exprs at;
    Expr weight;
    Expr sign;  // negative outside
  };
  std::vector<Corner> corners{{at, 1.0f, 0}};
  for (const std::vector<GridTap>& axis : taps) {
    std::vector<Corner> next;
    for (const Corner& corner : corners)
      for (const GridTap& tap : axis) {
        next.push_back({corner.at, corner.weight * tap.weight, corner.sign | tap.place});
        next.back().at.push_back(Halide::max(tap.place, 0));
      }
    corners = std::move(next);
  }
  const Expr zero = Halide::Internal::make_zero(type);
  Expr sum = zero;
  for (const Corner& corner : corners) {
    const Expr term = cast(type, corner.weight) * b.operand(image).at(corner.at);
    sum += has_zeros ? select(corner.sign >= 0, term, zero) : term;
  }
  return sum;
}

}  // namespace

Expr build_grid_sample(KernelBuilder& b, const Node& node, const Exprs& index) {
  const GridSampleAttributes rule = attributes_of<GridSampleAttributes>(node);
  const SymbolicShape& sizes = b.sizes(node.inputs[0]);
  const auto taps_of = [&](const Exprs& point) {
    Taps taps;
    // A point lists its coordinates from the innermost axis outward.
    for (size_t axis = 2; axis < sizes.size(); ++axis) {
      Exprs at = point;
      at.emplace_back(as_int(static_cast<int64_t>(sizes.size() - 1 - axis)));
      const Expr coordinate = b.operand(node.inputs[1]).at(at);
      taps.push_back(GridAxis(rule, b.size(sizes[axis]), coordinate.type()).taps(coordinate));
    }
    return taps;
  };
  Exprs point{index[0]};
  point.insert(point.end(), index.begin() + 2, index.end());
  return sum_of_taps(b, node.inputs[0], {index[0], index[1]}, share_taps(b, point, taps_of),
                     rule.padding_mode == "zeros");
}

Expr build_deform_sample(KernelBuilder& b, const Node& node, const Exprs& index) {
  const DeformAttributes deform = attributes_of<DeformAttributes>(node);
  const SymbolicShape& sizes = b.sizes(node.inputs[0]);
  const GridSampleAttributes linear;  // with zeros outside
  // A point has an item, a group, a tap, a row and a column.
  const auto taps_of = [&](const Exprs& point) {
    const Expr tap = point[2], of_axis[] = {tap / as_int(deform.kernel[1]), tap % as_int(deform.kernel[1])};
    Taps taps;
    for (size_t axis = 0; axis < 2; ++axis) {
      const Expr place = point[3 + axis] * as_int(deform.strides[axis]) - b.size(deform.pads[axis]) +
                         of_axis[axis] * as_int(deform.dilations[axis]),
                 offset = b.operand(node.inputs[1])
                              .at({point[0], point[1], tap, static_cast<int>(axis), point[3], point[4]});
      taps.push_back(GridAxis(linear, b.size(sizes[3 + axis]), offset.type())
                         .taps_at(cast(offset.type(), place) + offset));
    }
    return taps;
  };
  return sum_of_taps(b, node.inputs[0], {index[0], index[1], index[2]},
                     share_taps(b, {index[0], index[1], index[3], index[4], index[5]}, taps_of), true);
}

}  // namespace intarsia::halide
