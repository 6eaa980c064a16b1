// Samples of an image, or of a volume, between its elements: GridSample, and the taps of a DeformConv. All
// channels read at the same places, which are computed once for a tile of points. Where it pays, vectors run
// along the channels, so that a tap reads one vector in place of an element for each lane.
#include <algorithm>

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

/// What an element of the output samples.
struct Sample {
  Exprs at;     // axes of the image before those along which it is sampled: the item and the channel
  Exprs point;  // index of the point, which has the same taps in all channels
  std::function<Taps(const Exprs& point)> taps_of;
  bool has_zeros = false;  // whether elements outside are zeros
  Expr factor;             // number by which the sample is multiplied; undefined: none
};

using Image = std::function<Expr(const Exprs&)>;

/// Returns the weighted sum of the elements at all combinations of a tap for each axis.
Expr sum_of_taps(const Image& image, Halide::Type type, const Sample& sample, const Taps& taps) {
  struct Corner {
    Exprs at;
    Expr weight;
    Expr sign;  // negative outside
  };
  std::vector<Corner> corners{{sample.at, 1.0f, 0}};
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
    const Expr term = cast(type, corner.weight) * image(corner.at);
    sum += sample.has_zeros ? select(corner.sign >= 0, term, zero) : term;
  }
  return sample.factor.defined() ? sum * sample.factor : sum;
}

Sample grid_sample(KernelBuilder& b, const Node& node, const Exprs& index) {
  const SymbolicShape& sizes = b.sizes(node.inputs[0]);
  const GridSampleAttributes rule = attributes_of<GridSampleAttributes>(node);
  const auto taps_of = [&b, &node, &sizes, rule](const Exprs& point) {
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
  return {{index[0], index[1]}, point, taps_of, rule.padding_mode == "zeros", Expr()};
}

Sample deform_sample(KernelBuilder& b, const Node& node, const Exprs& index) {
  const SymbolicShape &image = b.sizes(node.inputs[0]), &offsets = b.sizes(node.inputs[1]),
                      &out = b.sizes(node.outputs[0]);
  const DeformAttributes deform = attributes_of<DeformAttributes>(node);
  // A point has an item, a group of the offsets, a tap, a row and a column.
  const auto taps_of = [&b, &node, &image, deform](const Exprs& point) {
    const GridSampleAttributes linear;  // with zeros outside
    const Expr tap = point[2], of_axis[] = {tap / as_int(deform.kernel[1]), tap % as_int(deform.kernel[1])};
    Taps taps;
    for (size_t axis = 0; axis < 2; ++axis) {
      const Expr place = point[3 + axis] * as_int(deform.strides[axis]) - b.size(deform.pads[axis]) +
                         of_axis[axis] * as_int(deform.dilations[axis]),
                 offset = b.operand(node.inputs[1])
                              .at({point[0], point[1], tap, static_cast<int>(axis), point[3], point[4]});
      taps.push_back(GridAxis(linear, b.size(image[2 + axis]), offset.type())
                         .taps_at(cast(offset.type(), place) + offset));
    }
    return taps;
  };
  const int64_t parts = out[3].number() * out[5].number(), group_parts = parts / offsets[1].number();
  const Expr part = index[3] * as_int(out[5].number()) + index[5],
             channel = part * as_int(out[6].number()) + index[6];
  const Exprs point{index[0], part / as_int(group_parts), index[4], index[1], index[2]};
  const Expr factor = node.inputs.size() > 2 ? b.operand(node.inputs[2]).at(point) : Expr();
  return {{index[0], channel}, point, taps_of, true, factor};
}

Sample sample_of(KernelBuilder& b, const Node& node, const Exprs& index) {
  return op_of(node) == CoreOp::grid_sample ? grid_sample(b, node, index) : deform_sample(b, node, index);
}

/// Returns the elements that a sample reads.
int64_t count_taps(const Node& node, size_t axes) {
  const bool is_grid = op_of(node) == CoreOp::grid_sample;
  const std::string mode = is_grid ? attributes_of<GridSampleAttributes>(node).mode : "linear";
  const int64_t of_axis = mode == "nearest" ? 1 : mode == "linear" ? 2 : 4;
  int64_t taps = 1;
  for (size_t axis = 0; axis < axes; ++axis) taps *= of_axis;
  return taps;
}

/// Returns the axis of an output with the channels.
size_t channel_axis(const Node& node) { return op_of(node) == CoreOp::grid_sample ? 1 : 6; }

/// Decides whether vectors of channels are read, if need be from a copy of the image, which takes as long as
/// a tap for each of its elements.
bool reads_channels(const KernelBuilder& b) {
  constexpr int64_t min_channels = 8;
  const Node& node = b.anchor();
  const ValueId image = node.inputs[0];
  const Dim& channels = b.sizes(image)[1];
  if (!channels.is_number() || b.sizes(node.outputs[0])[channel_axis(node)].number() < min_channels)
    return false;
  if (has_dense_pixels(b, image)) return true;
  const int64_t taps = count_taps(node, b.sizes(image).size() - 2),
                samples = element_count(typical_shape(b.sizes(node.outputs[0])));
  return taps > 1 && element_count(typical_shape(b.sizes(image))) <= samples * taps;
}

/// Table of the taps of all points.
struct TapTable {
  Func func;
  std::vector<Var> point;  // index of a point
  Taps taps;               // taps of the sample's point, read from the table
};

/// Tabulates the taps of a sample's point; `moved` returns the index of the point whose taps an index has.
TapTable tabulate_taps(const Sample& sample, const std::function<Exprs(Exprs)>& moved) {
  TapTable table{Func("table"), make_vars(sample.point.size(), "p"), {}};
  table.taps = sample.taps_of(moved(to_exprs(table.point)));
  Exprs values;
  std::vector<Expr*> places;
  for (std::vector<GridTap>& axis : table.taps)
    for (GridTap& tap : axis)
      for (Expr* value : {&tap.place, &tap.weight})
        if (!Halide::Internal::is_const(*value)) values.push_back(*value), places.push_back(value);
  table.func(std::vector<Var>(table.point.rbegin(), table.point.rend())) = Halide::Tuple(values);
  const Exprs at(sample.point.rbegin(), sample.point.rend());
  for (size_t i = 0; i < places.size(); ++i)
    *places[i] = values.size() == 1 ? Expr(table.func(at)) : Expr(table.func(at)[static_cast<int>(i)]);
  return table;
}

/// Samples on a processor: loops over tiles of points along one axis, inside of them over channels.
class SamplesBuilder {
 public:
  explicit SamplesBuilder(KernelBuilder& b)
      : b_(b),
        node_(b.anchor()),
        image_(node_.inputs[0]),
        is_grid_(op_of(node_) == CoreOp::grid_sample),
        sizes_(b.sizes(node_.outputs[0])),
        typical_(typical_shape(sizes_)),
        vars_(make_vars(sizes_.size(), "i")),
        channel_(channel_axis(node_)) {
    const size_t last = is_grid_ ? sizes_.size() - 1 : 2, first = is_grid_ ? 2 : 1;
    along_ = last;
    while (along_ > first && sizes_[along_] == 1) --along_;
    if (sizes_[along_] == 1) along_ = last;
    for (size_t i = 0; i <= last; ++i)
      if (i != along_ && i != channel_) outer_.push_back(i);
    for (size_t i = last + 1; i < channel_; ++i) inside_.push_back(i);
    points_ = vector_factor(typical_[along_], b.lanes());
    channels_ = vector_factor(typical_[channel_], b.lanes());
  }

  BuiltKernel build() {
    const bool by_channels = reads_channels(b_), are_last = b_.output().strides[channel_] == 1;
    read_ = by_channels && !has_dense_pixels(b_, image_) ? copy_image() : b_.operand(image_).at;
    Expr sample = element();
    if (by_channels && !are_last) sample = through_tile(sample);
    Func out("out");
    out(b_.output_vars(vars_)) = stored(b_.result_at(to_exprs(vars_), sample));
    schedule(out, by_channels && are_last);
    return b_.finish(out, b_.output());
  }

 private:
  /// Copies the image of an item, channels innermost.
  Image copy_image() {
    const SymbolicShape& sizes = b_.sizes(image_);
    copy_ = Func("image");
    copy_vars_ = make_vars(sizes.size(), "e");
    std::vector<Var> channel_first(copy_vars_.rbegin(), copy_vars_.rend() - 2);
    channel_first.insert(channel_first.begin(), copy_vars_[1]);
    channel_first.push_back(copy_vars_[0]);
    copy_(channel_first) = b_.operand(image_).at(to_exprs(copy_vars_));
    return [copy = copy_](const Exprs& at) {
      Exprs index(at.rbegin(), at.rend() - 2);
      index.insert(index.begin(), at[1]);
      index.push_back(at[0]);
      return Expr(copy(index));
    };
  }

  /// Returns an element of the output, whose taps are in a table.
  Expr element() {
    const Sample sample = sample_of(b_, node_, to_exprs(vars_));
    table_ = tabulate_taps(sample, [this](Exprs index) {
      // The last tile of an open size may overhang.
      Expr& along = index[along_in_point()];
      if (!sizes_[along_].is_number()) along = Halide::min(along, b_.size(sizes_[along_]) - 1);
      return index;
    });
    return sum_of_taps(read_, b_.type(image_), sample, table_.taps);
  }

  /// Returns the place of the tiles' axis in the index of a point.
  size_t along_in_point() const { return is_grid_ ? along_ - 1 : along_ + 2; }

  /// Computes the samples of a tile in vectors of channels, from which the output reads vectors of points.
  Expr through_tile(const Expr& sample) {
    tile_ = Func("samples");
    std::vector<Var> channel_first{vars_[channel_]};
    for (size_t i = vars_.size(); i-- > 0;)
      if (i != channel_) channel_first.push_back(vars_[i]);
    tile_(channel_first) = sample;
    return tile_(to_exprs(channel_first));
  }

  void schedule(Func out, bool along_channels) {
    const Var tile("tile"), point("point"), block("block");
    out.split(vars_[along_], tile, point, points_, tail_of(sizes_[along_]));
    const int64_t channels = typical_[channel_], of_block = channels_of_block();
    const bool has_blocks = of_block < channels;
    if (has_blocks)
      out.split(vars_[channel_], block, vars_[channel_], as_int(of_block),
                Halide::TailStrategy::ShiftInwards);
    std::vector<Halide::VarOrRVar> inner_first{vars_[channel_]};
    for (size_t i = inside_.size(); i-- > 0;) inner_first.emplace_back(vars_[inside_[i]]);
    inner_first.insert(along_channels ? inner_first.end() : inner_first.begin(), point);
    inner_first.emplace_back(tile);
    for (size_t i = outer_.size(); i-- > 1;) inner_first.emplace_back(vars_[outer_[i]]);
    if (has_blocks) inner_first.emplace_back(block);
    inner_first.emplace_back(vars_[0]);
    out.reorder(inner_first);
    if (along_channels)
      out.vectorize(vars_[channel_], channels_, Halide::TailStrategy::ShiftInwards);
    else
      out.vectorize(point);
    table_.func.compute_at(out, tile).vectorize(table_.point[along_in_point()], points_,
                                                Halide::TailStrategy::GuardWithIf);
    if (tile_.defined())
      tile_.compute_at(out, tile).vectorize(vars_[channel_], channels_, Halide::TailStrategy::ShiftInwards);
    std::vector<Loop> loops{{vars_[0], typical_[0]}};
    if (has_blocks) loops.push_back({block, (channels + of_block - 1) / of_block});
    const size_t copies = loops.size();
    for (size_t i = 1; i < outer_.size(); ++i) loops.push_back({vars_[outer_[i]], typical_[outer_[i]]});
    const size_t shared = share(out, loops, tile);
    if (copy_.defined()) schedule_copy(out, loops[copies - 1].var, shared >= copies);
  }

  /// Returns the channels whose elements are copied at once: the copy stays in the cache of a core, and no
  /// thread reads what another one copied.
  int64_t channels_of_block() const {
    const int64_t channels = typical_[channel_];
    if (!copy_.defined() || !tile_.defined()) return channels;
    const Shape image = typical_shape(b_.sizes(image_));
    const int64_t pixels = element_count(image) / std::max<int64_t>(image[0] * image[1], 1),
                  bytes = std::max<int64_t>(pixels, 1) * b_.type(image_).bytes(),
                  most = std::min<int64_t>(b_.isa().l2_bytes / 2 / bytes, channels / b_.kernel().threads);
    return std::min(channels, std::max<int64_t>(most / channels_, 1) * channels_);
  }

  struct Loop {
    Var var;
    int64_t times = 1;
  };

  /// Shares the first of the outer loops, or else the one over tiles, that is long enough among threads.
  /// Returns its place in `loops`.
  size_t share(Func out, const std::vector<Loop>& loops, const Var& tile) const {
    constexpr int64_t min_elements = 8192;
    const int64_t threads = b_.kernel().threads;
    if (threads == 1 || element_count(typical_) < min_elements) return loops.size();
    for (size_t i = 0; i < loops.size(); ++i)
      if (loops[i].times >= threads) {
        out.parallel(loops[i].var);
        return i;
      }
    const int64_t tiles = typical_[along_] / points_, of_task = std::max<int64_t>(tiles / (4 * threads), 1);
    const Var task("task");
    if (tiles >= threads)
      out.split(tile, task, tile, as_int(of_task), tail_of(sizes_[along_])).parallel(task);
    return loops.size();
  }

  /// Schedules the copy in a loop of the output, whose threads are free to share it or not.
  void schedule_copy(Func out, const Var& loop, bool is_shared) {
    const SymbolicShape& sizes = b_.sizes(image_);
    const Shape typical = typical_shape(sizes);
    const size_t last = sizes.size() - 1;
    std::vector<Halide::VarOrRVar> inner_first(copy_vars_.rbegin(), copy_vars_.rend() - 2);
    inner_first.insert(inner_first.begin() + 1, copy_vars_[1]);
    for (size_t i = 2; i < sizes.size(); ++i) copy_.bound(copy_vars_[i], 0, b_.size(sizes[i]));
    copy_.compute_at(out, loop).reorder(inner_first);
    copy_.vectorize(copy_vars_[last], vector_factor(typical[last], b_.lanes()), tail_of(sizes[last]));
    constexpr int at_once = 4;  // channels whose stores share cache lines
    copy_.unroll(copy_vars_[1], at_once, Halide::TailStrategy::GuardWithIf);
    if (b_.kernel().threads > 1 && is_shared && last > 2) copy_.parallel(copy_vars_[2]);
  }

  /// Returns how a loop in vectors ends: vectors are no longer than a size that is a number.
  static Halide::TailStrategy tail_of(const Dim& size) {
    return size.is_number() ? Halide::TailStrategy::ShiftInwards : Halide::TailStrategy::GuardWithIf;
  }

  KernelBuilder& b_;
  const Node& node_;
  const ValueId image_;
  const bool is_grid_;
  const SymbolicShape sizes_;  // sizes of the output
  const Shape typical_;
  const std::vector<Var> vars_;
  const size_t channel_;                // axis of the channels
  size_t along_ = 0;                    // axis of the tiles
  std::vector<size_t> outer_, inside_;  // other axes: loops outside of a tile, and in it
  int points_ = 1, channels_ = 1;       // points of a tile, channels of a vector
  Image read_;
  TapTable table_;
  Func copy_, tile_;  // defined where they are needed
  std::vector<Var> copy_vars_;
};

}  // namespace

bool samples_in_tiles(const KernelBuilder& b) {
  if (b.mapping() != Mapping::loops || b.kernel().anchor == no_node) return false;
  const CoreOp op = op_of(b.anchor());
  return op == CoreOp::deform_sample || (op == CoreOp::grid_sample && reads_channels(b));
}

BuiltKernel build_samples(KernelBuilder& b) { return SamplesBuilder(b).build(); }

Expr build_sample(KernelBuilder& b, const Node& node, const Exprs& index) {
  const Sample sample = sample_of(b, node, index);
  const Image image = b.operand(node.inputs[0]).at;
  const Halide::Type type = b.type(node.inputs[0]);
  const bool has_one_channel = b.sizes(node.inputs[0])[1] == Dim(1);
  if (b.mapping() != Mapping::loops || has_one_channel)
    return sum_of_taps(image, type, sample, sample.taps_of(sample.point));
  TapTable table = tabulate_taps(sample, [](Exprs index) { return index; });
  const size_t last = table.point.size() - 1;
  table.func.compute_root().vectorize(table.point[last], b.lanes(), Halide::TailStrategy::GuardWithIf);
  if (b.kernel().threads > 1) table.func.parallel(table.point[last - 1]);
  return sum_of_taps(image, type, sample, table.taps);
}

}  // namespace intarsia::halide
