// Convolutions and matrix products as one form: outputs indexed by (batch..., group, panel of channels, pixel
// axes..., lane of the panel), a reduction over (channel, taps...). A matrix product has rows as its only
// pixel axis and columns as channels. The accumulators of a register tile are Func `acc`.
#include <algorithm>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/convert.h"
#include "backends/halide/build/dsp_products.h"
#include "backends/halide/build/schedule_contraction.h"
#include "backends/halide/schedule/amx_schedule.h"
#include "backends/halide/schedule/contraction_tile.h"

namespace intarsia::halide {
namespace {

class ContractionBuilder {
 public:
  explicit ContractionBuilder(KernelBuilder& b)
      : b_(b),
        node_(b.anchor()),
        conv_(op_of(node_) == CoreOp::conv),
        out_sizes_(b.sizes(node_.outputs[0])) {}

  BuiltKernel build() {
    set_sizes();
    choose_stage();
    fill_up_pixels();
    Func acc("acc");
    const std::vector<Var> index = parts_.inner_first();
    const Halide::Type type = b_.type(node_.outputs[0]);
    const Expr zero = Halide::Internal::make_zero(type);
    const RDom domain(reduction_domain(), "r");
    Exprs r;
    for (int i = 0; i < domain.dimensions(); ++i) r.emplace_back(domain[i]);
    if (parts_.has_integers()) choose_dequantization(index, r);
    acc(index) = parts_.on_amx ? Halide::undef(type) : zero;
    if (parts_.sums_neighbors)
      acc(index) = add_neighbors(acc(index), r);
    else if (parts_.slices.slices == 1)
      acc(index) += product(r);
    else
      sum_slices(acc, index, zero, r);
    parts_.acc = acc;
    parts_.reduction = domain;
    return finish();
  }

 private:
  void set_sizes() {
    size_t rank = out_sizes_.size();
    ContractionParts& p = parts_;
    p.threads = b_.kernel().threads;
    p.dot = b_.kernel().contraction().packing.dot;
    p.on_amx = b_.kernel().contraction().schedule.on_amx;
    p.sums_neighbors = p.dot == b_.isa().neighbors_at_once();
    p.calls_dot_tiles = p.dot == 4 && b_.isa().calls_dot_tiles();
    const SymbolicShape& weights = b_.sizes(node_.inputs[1]);
    int64_t group = conv_ ? attributes_of<ConvAttributes>(node_).group : 1;
    const Dim channels = conv_ ? Dim(out_sizes_[1].number() / group) : out_sizes_.back();
    if (conv_) {
      p.batch_extents = {out_sizes_[0]};
      p.pixel_extents.assign(out_sizes_.begin() + 2, out_sizes_.end());
      kernel_.assign(rank - 2, 1);
      bool packed = b_.kernel().contraction().packing.panel > 0;
      for (size_t i = 0; i < rank - 2; ++i) kernel_[i] = weights[i + 2].number();
      depth_ = packed ? weights[rank] * p.dot : weights[1];
    } else {
      p.batch_extents.assign(out_sizes_.begin(), out_sizes_.end() - 2);
      p.pixel_extents = {out_sizes_[rank - 2]};
      depth_ = b_.sizes(node_.inputs[0]).back();
      p.integers = attributes_of<MatMulAttributes>(node_);
      if (p.has_integers()) depth_ = ceil_div(depth_, p.integers.block) * p.integers.block;
      if (p.dot > 1) depth_ = ceil_div(depth_, depth_unit()) * depth_unit();
    }
    const bool rounds = b_.kernel().contraction().schedule.rounds_to_bf16();
    const int bytes = rounds ? 2 : b_.type(node_.inputs[0]).bytes();
    p.tile = b_.kernel().contraction().schedule.tile;
    p.threads_share_rows = b_.kernel().contraction().schedule.threads_share_rows;
    p.group = group;
    p.channels = channels;
    p.panels = ceil_div(channels, p.tile.panel);
    p.lanes_apart = b_.isa().runs_groups() && p.tile.exact;
    p.depth = depth_ * group;
    p.depth_bytes = typical(p.depth) * bytes;
    p.block_bytes = b_.isa().block_bytes();
    p.stack_is_large = !b_.isa().is_in_order();
    for (int64_t taps : kernel_) p.taps *= taps;
    if (p.lanes_apart && !p.has_integers()) p.slices = choose_slices();
    p.name_vars();
  }

  /// Chooses the form in which the reduction reads the input: floats of 16 bits widened once, not at each
  /// step; for dot products f32 rounded to bf16, integers of 16 bits where those of 8 have no instruction,
  /// and zeros up to a whole number of dot products, or of blocks.
  void choose_stage() {
    const Halide::Type type = b_.type(node_.inputs[0]);
    if (b_.kernel().contraction().schedule.rounds_to_bf16())
      stage_as_ = StageAs{Halide::BFloat(16), {}, parts_.on_amx, parts_.on_amx ? depth_unit() : 0};
    const bool is_half = type.bits() == 16 && (type.is_float() || type.is_bfloat());
    if (is_half && !has_dots() && b_.mapping() == Mapping::loops)
      stage_as_ = StageAs{b_.type(node_.outputs[0])};
    if (type == Halide::UInt(8) && !has_dots() && !b_.isa().sums_pairs())
      stage_as_ = StageAs{Halide::Int(16)};
    if (parts_.has_integers()) {
      stage_as_ = StageAs{b_.type(node_.outputs[0])};
      const Dim& depth = b_.sizes(node_.inputs[0]).back();
      if (!(depth == depth_)) stage_as_->channels = depth.number();
    }
    if (!has_dots() || (!type.is_uint() && !parts_.on_amx)) return;
    const int64_t depth = depth_of_input();
    if (parts_.dot == 2 && type.is_uint()) stage_as_ = StageAs{Halide::Int(16)};
    if (parts_.sums_neighbors)
      stage_as_ = StageAs{.type = Halide::Int(16), .for_words = b_.isa().multiplies_words()};
    if (depth % depth_unit() == 0 && !parts_.fills_up_rows() && !needs_dense_rows()) return;
    if (!stage_as_) stage_as_ = StageAs{type, {}, false, parts_.on_amx ? depth_unit() : 0};
    if (depth % depth_unit() != 0) stage_as_->channels = depth;
  }

  /// Returns the input channels of a group without those that fill up a dot product, a number.
  int64_t depth_of_input() const {
    const SymbolicShape& sizes = b_.sizes(node_.inputs[0]);
    if (!conv_) return sizes.back().number();
    return sizes[1].number() / parts_.group * attributes_of<ConvAttributes>(node_).unfolded;
  }

  /// Adds the pixels of a row that fill up tile registers.
  void fill_up_pixels() {
    const Dim& width = parts_.pixel_extents.back();
    if (conv_ && parts_.fills_up_rows()) stage_as_->more_pixels = parts_.tile.pixels - width.number();
  }

  /// Checks whether what computes the sums reads neighbors along the depth side by side, where the first
  /// matrix has them apart. A convolution copies such an input anyway.
  bool needs_dense_rows() const {
    return (parts_.on_amx || parts_.calls_dot_tiles) && !conv_ && matrix_stride(0, 0) != Dim(1);
  }

  /// Chooses slices, which need numbers.
  TileSlices choose_slices() const {
    const ContractionParts& p = parts_;
    const auto are_numbers = [](const SymbolicShape& sizes) {
      return std::ranges::all_of(sizes, &Dim::is_number);
    };
    if (!are_numbers(p.pixel_extents) || !are_numbers(p.batch_extents) || !are_numbers({p.channels, depth_}))
      return {};
    const int64_t width = p.pixel_extents.back().number();
    const int64_t pixels = element_count(fixed_sizes(p.pixel_extents));
    const int64_t rows =
        element_count(fixed_sizes(p.batch_extents)) * p.group * pixels / std::max<int64_t>(width, 1);
    return slice_tile(p.tile, p.channels.number(), {.width = width, .depth = depth_.number(), .rows = rows});
  }

  void sum_slices(Func acc, const std::vector<Var>& index, const Expr& zero, const Exprs& r) {
    std::vector<Var> sliced = index;
    sliced.push_back(parts_.slice);
    Func sum("slice_sum"), sums("slice_sums");
    sum(sliced) = zero;
    sum(sliced) += product(r);
    sums(sliced) = sum(sliced);
    const RDom all(0, as_int(parts_.slices.slices), "all");
    Exprs at = to_exprs(index);
    at.emplace_back(all);
    acc(index) += sums(at);
    parts_.slice_sum = sum;
    parts_.slice_sums = sums;
  }

  /// Returns a product of the reduction, in the dtype of the sums.
  Expr product(const Exprs& r) {
    const Halide::Type type = b_.type(node_.outputs[0]);
    const Expr x = reads_vectors() ? vector_of_input(r) : input(r);
    Expr w = weight(r);
    if (x.type() == Halide::Int(16) && b_.isa().has_helium()) return Halide::cast(type, w) * in_register(x);
    if (x.type() == Halide::Int(16)) w = Halide::cast(x.type(), w);
    return Halide::cast(type, w) * Halide::cast(type, x);
  }

  /// Returns the sum and the products of neighbors along the depth.
  Expr add_neighbors(const Expr& sum, const Exprs& r) {
    Exprs x, w, at = r;
    for (int i = 0; i < parts_.dot; ++i) {
      at[0] = i;
      x.push_back(input(at));
      w.push_back(weight(at));
    }
    return b_.isa().multiplies_words() ? add_dsp_products(sum, x, w) : add_vector_products(sum, x, w);
  }

  /// Returns the reduction's domain: channels innermost, the neighbors of a dot product and the dot products
  /// of a tile register apart, then the taps from the last axis to the first.
  Halide::Region reduction_domain() const {
    const int64_t slices = parts_.slices.slices;
    Halide::Region region;
    if (const MatMulAttributes& integers = parts_.integers; integers.block > 0) {
      return {{0, as_int(integers.in_word())},
              {0, as_int(integers.block / integers.in_word())},
              {0, as_int(depth_.number() / integers.block)}};
    }
    if (has_dots()) region.push_back({0, parts_.sums_neighbors ? 1 : as_int(parts_.dot)});
    if (parts_.on_amx) region.push_back({0, amx_tile});
    const bool in_parts = slices > 1 || has_dots();
    region.push_back({0, in_parts ? as_int(depth_.number() / slices / depth_unit()) : b_.size(depth_)});
    for (size_t i = kernel_.size(); i-- > 0;) region.push_back({0, as_int(kernel_[i])});
    return region;
  }

  bool has_dots() const { return parts_.dot > 1; }

  /// Returns the channels that are multiplied together; zeros fill up the depth.
  int64_t depth_unit() const { return parts_.dot * depth_steps(b_.kernel().contraction().schedule); }

  /// Returns the dimension of the reduction's domain that counts steps along the depth.
  int depth_axis() const { return (has_dots() ? 1 : 0) + (parts_.on_amx ? 1 : 0); }

  /// Returns the dot product along the depth of a step of the reduction.
  Expr dot_at(const Exprs& r) const { return parts_.on_amx ? r[2] * amx_tile + r[1] : Expr(r[1]); }

  /// Returns the channels of the input, or of a block of the copy, that a step of the reduction reads, and
  /// the block.
  std::pair<Expr, std::optional<Expr>> staged_depth_at(const Exprs& r) const {
    if (!stage_as_ || stage_as_->block == 0) return {depth_at(r), std::nullopt};
    return {r[1] * as_int(parts_.dot) + r[0], r[2]};
  }

  /// Returns the input channel, within the group of channels, of a step of the reduction.
  Expr depth_at(const Exprs& r) const {
    if (parts_.has_integers())
      return r[2] * as_int(parts_.integers.block) + r[1] * as_int(parts_.integers.in_word()) + r[0];
    if (has_dots()) return dot_at(r) * as_int(parts_.dot) + r[0];
    if (parts_.slices.slices == 1) return r[0];
    return parts_.slice * as_int(depth_.number() / parts_.slices.slices) + r[0];
  }

  Expr tap(const Exprs& r, size_t axis) const { return r[kernel_.size() - axis + depth_axis()]; }

  Expr weight(const Exprs& r) {
    if (parts_.unpack.defined()) return unpacked(r);
    if (parts_.has_integers()) return dequantized(r);
    const Operand& from = b_.operand(node_.inputs[1]);
    if (b_.kernel().contraction().packing.panel > 0) {
      const bool in_one = parts_.lanes_apart;
      Exprs at = batch_of_weights(from.shape);
      at.push_back(in_one ? Expr(0) : panel());
      for (size_t i = 0; i < kernel_.size(); ++i) at.push_back(tap(r, i));
      at.push_back(has_dots() ? dot_at(r) : depth_at(r));
      const Expr lane = in_one ? channel() : Expr(parts_.ci);
      at.push_back(has_dots() ? lane * as_int(parts_.dot) + r[0] : lane);
      return from.at(at);
    }
    if (b_.mapping() == Mapping::tile_per_item) return weight_in_place(r);
    return conv_ ? staged_conv_weight(r) : staged_matrix(r);
  }

  /// Returns the index of packed weights outside of panels.
  Exprs batch_of_weights(const SymbolicShape& packed) const {
    if (conv_) return {parts_.group > 1 ? Expr(parts_.g) : Expr(0)};
    const size_t axes = packed.size() - 3,
                 broadcast = parts_.batch.size() - std::min(axes, parts_.batch.size());
    Exprs at;
    for (size_t i = 0; i < axes; ++i)
      at.push_back(packed[i] == 1 ? Expr(0) : Expr(parts_.batch[broadcast + i]));
    return at;
  }

  /// Chooses where integers become numbers: where tiles of few rows read them; for more rows once, in a panel
  /// that all tiles of a block read. With an open number of rows, sums are computed in both ways.
  void choose_dequantization(const std::vector<Var>& index, const Exprs& r) {
    const Dim& rows = parts_.pixel_extents.back();
    const int64_t most = rows.is_number() ? rows.number() : parts_.tile.pixels;
    if (b_.mapping() != Mapping::loops || most <= few_rows) return;
    if (!rows.is_number()) {
      parts_.even_tiles.emplace(b_.size(rows), parts_.tile.pixels);
      Func few("few");
      few(index) = Halide::Internal::make_zero(b_.type(node_.outputs[0]));
      few(index) += product(r);
      parts_.few = few;
    }
    const std::vector<Var> step{Var("of_word"), Var("word"), Var("part")};
    std::vector<Var> place{parts_.ci, step[0], step[1], step[2]};
    if (parts_.has_panels()) place.push_back(parts_.co);
    Func unpack("unpack");
    unpack(place) = dequantized(to_exprs(step));
    parts_.unpack = unpack;
    parts_.unpack_step = step[0];
  }

  /// Reads the numbers of a panel.
  Expr unpacked(const Exprs& r) const {
    Exprs at{parts_.ci, r[0], r[1], r[2]};
    if (parts_.has_panels()) at.emplace_back(parts_.co);
    return parts_.unpack(at);
  }

  /// Returns how far above the lowest bit dequantized() leaves an integer of a word, as it shifts only the
  /// upper half: its number has as many factors of 2 too many, which the copy of the other factor has too
  /// few.
  Expr places_above(const Expr& depth) const {
    const int bits = as_int(parts_.integers.bits);
    return depth % (16 / bits) * bits;
  }

  /// Returns the number that an integer stands for, times 2^places_above(). An integer of less than 23 bits
  /// is the difference of 2^23 and the f32 whose mantissa has its bits, and a zero point is, too.
  Expr dequantized(const Exprs& step) {
    const auto& [block, bits] = parts_.integers;
    const bool in_one = parts_.lanes_apart;
    const Expr word = b_.operand(node_.inputs[1])
                          .at({0, in_one ? Expr(0) : panel(), step[2] * as_int(block * bits / 32) + step[1],
                               in_one ? channel() : Expr(parts_.ci)});
    const auto of_block = [&](size_t input) {
      const SymbolicShape& sizes = b_.sizes(node_.inputs[input]);
      return b_.operand(node_.inputs[input])
          .at({sizes[0] == 1 ? Expr(0) : step[2], sizes[1] == 1 ? Expr(0) : channel()});
    };
    const auto number = [](const Expr& mantissa) {
      return Halide::reinterpret<float>(mantissa | Expr(0x4b000000U));
    };
    const Expr places = Halide::cast<uint32_t>(places_above(step[0]));
    const Expr half = word >> Halide::cast<uint32_t>(step[0] / as_int(16 / bits) * 16);
    const Expr mask = Expr(static_cast<uint32_t>((1 << bits) - 1)) << places;
    return (number(half & mask) - number(Halide::cast<uint32_t>(of_block(3)) << places)) *
           convert(Halide::Float(32), of_block(2));
  }

  /// Reads weights that are computed at run time, without a copy.
  Expr weight_in_place(const Exprs& r) {
    if (!conv_) return matrix_element(1, {depth_at(r), channel()});
    Exprs at{parts_.group > 1 ? parts_.g * b_.size(parts_.channels) + channel() : channel(), depth_at(r)};
    for (size_t i = 0; i < kernel_.size(); ++i) at.push_back(tap(r, i));
    return b_.operand(node_.inputs[1]).at(at);
  }

  /// Returns the panel that acc's arguments name; where panels do not divide the channels, the only panel,
  /// which has all channels.
  Expr panel() const { return parts_.has_panels() ? Expr(parts_.co) : Expr(0); }

  /// Returns the channel within its group that acc's arguments name.
  Expr channel() const {
    if (parts_.lanes_apart) return parts_.ci * b_.size(parts_.panels) + parts_.co;
    return panel() * as_int(parts_.tile.panel) + parts_.ci;
  }

  /// Packs weights that are computed at run time, and reads the packed ones.
  Expr staged_conv_weight(const Exprs& r) {
    Func pack("pack");
    Var c("c");
    std::vector<Var> index{parts_.ci, c}, taps = make_vars(kernel_.size(), "k");
    index.insert(index.end(), taps.begin(), taps.end());
    index.push_back(parts_.co);
    index.push_back(parts_.g);
    Exprs at{parts_.g * b_.size(parts_.channels) + parts_.co * as_int(parts_.tile.panel) + parts_.ci, c};
    at.insert(at.end(), taps.begin(), taps.end());
    pack(index) = b_.operand(node_.inputs[1]).at(at);
    pack.compute_root();
    Exprs use{parts_.ci, r[0]};
    for (size_t i = 0; i < kernel_.size(); ++i) use.push_back(tap(r, i));
    use.push_back(panel());
    use.push_back(parts_.group > 1 ? Expr(parts_.g) : Expr(0));
    return pack(use);
  }

  Expr matrix_element(size_t input, const Exprs& row_and_column) {
    Exprs at = to_exprs(parts_.batch);
    at.insert(at.end(), row_and_column.begin(), row_and_column.end());
    return b_.matrix_at(node_.inputs[input], at);
  }

  /// Checks whether so many rows are multiplied with a large matrix that a copy of it in panels takes less
  /// time than reading parts of rows that are far apart again for each tile.
  bool pays_to_pack() const {
    constexpr int64_t min_rows = 48, min_bytes = 256 << 10, max_bytes = 32 << 20;
    const int64_t bytes = typical(depth_) * typical(parts_.channels) * b_.type(node_.inputs[1]).bytes();
    return typical(parts_.pixel_extents.back()) >= min_rows && bytes >= min_bytes && bytes <= max_bytes;
  }

  /// Reads a matrix computed at run time: as it is if its rows are dense and it is small or for few rows,
  /// else packed per batch element.
  Expr staged_matrix(const Exprs& r) {
    const bool is_open = !parts_.channels.is_number();
    if (has_dots()) return staged_dots(r);
    if (matrix_stride(1, 0) == 1 && !is_open && !pays_to_pack()) return matrix_element(1, {r[0], channel()});
    Func pack("pack");
    Var k("k");
    std::vector<Var> index{parts_.ci, k, parts_.co};
    index.insert(index.end(), parts_.batch.begin(), parts_.batch.end());
    Expr column = parts_.co * as_int(parts_.tile.panel) + parts_.ci;
    if (is_open) column = Halide::min(Halide::likely(column), b_.size(parts_.channels) - 1);
    pack(index) = matrix_element(1, {k, column});
    parts_.pack = pack;
    parts_.pack_index = k;
    parts_.pack_reads_along_depth = matrix_stride(1, 1) == 1;
    Exprs use{parts_.ci, r[0], panel()};
    use.insert(use.end(), parts_.batch.begin(), parts_.batch.end());
    return pack(use);
  }

  /// Packs a matrix computed at run time, with the neighbors of a dot product side by side, and reads it.
  Expr staged_dots(const Exprs& r) {
    if (!parts_.pack.defined()) pack_dots();
    Exprs use{r[0], parts_.ci, dot_at(r), panel()};
    use.insert(use.end(), parts_.batch.begin(), parts_.batch.end());
    return parts_.pack(use);
  }

  void pack_dots() {
    Func pack("pack");
    const Var k("k"), neighbor("neighbor");
    std::vector<Var> index{neighbor, parts_.ci, k, parts_.co};
    index.insert(index.end(), parts_.batch.begin(), parts_.batch.end());
    const Expr step = k * as_int(parts_.dot) + neighbor;
    const int64_t depth = b_.sizes(node_.inputs[0]).back().number();
    Expr column = parts_.co * as_int(parts_.tile.panel) + parts_.ci;
    if (!parts_.channels.is_number())
      column = Halide::min(Halide::likely(column), b_.size(parts_.channels) - 1);
    const StageAs as{b_.type(node_.inputs[1]),
                     depth % depth_unit() == 0 ? std::nullopt : std::optional(depth)};
    pack(index) = as.element(matrix_element(1, {as.channel(step), column}), step);
    pack.bound(neighbor, 0, as_int(parts_.dot)).unroll(neighbor);
    parts_.pack = pack;
    parts_.pack_index = k;
    parts_.pack_reads_along_depth = matrix_stride(1, 1) == 1;
  }

  /// Returns the stride of a matrix along its last axis (0) or the one before (1).
  Dim matrix_stride(size_t matrix, size_t axis_from_end) const {
    for (size_t i = 0; i < b_.body().inputs.size(); ++i) {
      const SymbolicShape& strides = b_.input(i).strides;
      if (b_.body().inputs[i] == node_.inputs[matrix]) return strides[strides.size() - 1 - axis_from_end];
    }
    return 0;
  }

  /// Checks whether sums read vectors of f32, or of integers of 16 bits, along the depth, which lie side by
  /// side in memory.
  bool reads_vectors() const {
    const Halide::Type type = stage_as_ ? stage_as_->type : b_.type(node_.inputs[0]);
    if (b_.mapping() != Mapping::loops || has_dots() || parts_.has_integers() || !depth_.is_number() ||
        (type != Halide::Float(32) && type != Halide::Int(16)))
      return false;
    const bool is_dense = conv_ || stage_as_ || matrix_stride(0, 0) == Dim(1);
    return is_dense && depth_lanes(b_.isa(), depth_.number()) > 1;
  }

  /// Returns an element of the input, by a copy that is in registers.
  Expr vector_of_input(const Exprs& r) {
    ContractionParts& p = parts_;
    std::vector<Var> at = make_vars(r.size(), "r");
    const Expr element = input(to_exprs(at));
    Exprs use = r;
    const auto add_axes = [&](const std::vector<Var>& axes) {
      at.insert(at.end(), axes.rbegin(), axes.rend());
      use.insert(use.end(), axes.rbegin(), axes.rend());
    };
    add_axes(p.pixels);
    if (p.group > 1) add_axes({p.g});
    add_axes(p.batch);
    Func vectors("vectors");
    vectors(at) = element;
    p.vectors = vectors;
    return vectors(use);
  }

  Expr input(const Exprs& r) {
    if (!conv_ && stage_as_) return staged_rows(r);
    if (!conv_) return matrix_element(0, {parts_.pixels[0], depth_at(r)});
    const ConvAttributes conv = attributes_of<ConvAttributes>(node_);
    const auto [channel, block] = staged_depth_at(r);
    Exprs at{parts_.batch[0], parts_.group == 1 ? channel : parts_.g * b_.size(depth_) + channel};
    for (size_t i = 0; i < kernel_.size(); ++i)
      at.push_back(parts_.pixels[i] * as_int(conv.strides[i]) + tap(r, i) * as_int(conv.dilations[i]));
    if (conv.unfolded > 1) at.back() = parts_.pixels.back();
    if (block) at.push_back(*block);
    if (!staged_.at) stage_conv();
    return staged_.at(at);
  }

  void stage_conv() {
    staged_ = conv_input(b_, node_, kernel_, stage_as_);
    parts_.stage = staged_.func;
    parts_.stage_vars = staged_.vars;
    parts_.pad = staged_.pad;
    parts_.pad_channels = b_.sizes(node_.inputs[0])[1].number();
  }

  /// Copies rows of the first matrix, and reads the copy.
  Expr staged_rows(const Exprs& r) {
    if (!parts_.stage.defined()) stage_rows();
    Exprs use = to_exprs(parts_.stage_vars);
    const auto [depth, block] = staged_depth_at(r);
    use[0] = depth;
    if (block) use.back() = *block;
    return parts_.stage(use);
  }

  void stage_rows() {
    Func stage("stage");
    const Var k("c");
    std::vector<Var> index{k, parts_.pixels[0]};
    index.insert(index.end(), parts_.batch.begin(), parts_.batch.end());
    const Expr channel = stage_as_->add_block(index);
    Expr row = parts_.pixels[0];
    if (parts_.fills_up_rows()) row = Halide::min(Halide::likely(row), b_.size(parts_.pixel_extents[0]) - 1);
    Expr element = stage_as_->element(matrix_element(0, {row, stage_as_->channel(channel)}), channel);
    if (parts_.has_integers()) element *= Halide::reinterpret<float>((127 - places_above(channel)) << 23);
    stage(index) = element;
    parts_.stage = stage;
    parts_.stage_vars = index;
  }

  /// Returns the index of element (batch, channel, pixels) in the logical output.
  Exprs logical(const Exprs& batch, Expr channel, const Exprs& pixels) const {
    Exprs at = batch;
    if (conv_) at.push_back(channel);
    at.insert(at.end(), pixels.begin(), pixels.end());
    if (!conv_) at.push_back(channel);
    return at;
  }

  /// Finishes the kernel. Its code sees the output's channel axis as (group, panel, lane), or as (group,
  /// channel) where panels do not divide it, so that no index needs a division.
  BuiltKernel finish() {
    ContractionParts& p = parts_;
    Expr channel = p.tile.exact ? this->channel() : Expr(p.channel);
    Exprs from = to_exprs(p.inner_first());
    if (!p.tile.exact) from[0] = p.channel;
    if (!p.tile.exact && p.has_panels()) {
      from[0] = p.channel % as_int(p.tile.panel);
      from[1 + p.pixels.size()] = p.channel / as_int(p.tile.panel);
    }
    if (p.group > 1) channel = p.g * b_.size(p.channels) + channel;
    Exprs at = logical(to_exprs(p.batch), channel, to_exprs(p.pixels));
    p.out = Func("out");
    if (p.sums_neighbors && b_.isa().has_helium()) {
      p.held = Func("held");
      p.held(p.acc.args()) = held_in_register(p.acc(to_exprs(p.acc.args())));
    }
    Expr sum = p.held.defined() ? p.held(from) : p.acc(from);
    if (p.few.defined()) sum = Halide::select(p.even_tiles->tile > as_int(few_rows), sum, p.few(from));
    p.out(b_.output_vars(p.outer_first())) = output(at, sum);
    schedule_contraction(b_, p);
    BuiltKernel built = b_.finish(p.out, seen_argument());
    if (p.even_tiles) built.leave(*p.even_tiles);
    if (p.on_amx) built.amx_sums = {p.acc.name()};
    if (p.calls_dot_tiles) built.dot_tile_sums = p.acc.name();
    return built;
  }

  /// Returns an element of the output. Two vectors of f32 next to each other are rounded to bf16 at once.
  Expr output(const Exprs& at, const Expr& sum) {
    const Value& value = b_.body().value(b_.body().outputs[0]);
    const Node& last = b_.body().node(value.producer);
    const bool is_rounded = value.type.dtype == DType::bf16 && op_of(last) == CoreOp::cast &&
                            b_.type(last.inputs[0]) == Halide::Float(32);
    if (!parts_.on_amx || !is_rounded || parts_.tile.panel % amx_pairs != 0)
      return stored(b_.result_at(at, sum));
    parts_.output_lanes = amx_pairs;
    return round_pairs_to_bf16(b_.value_after(b_.kernel().anchor, sum, last.inputs[0], at));
  }

  Argument seen_argument() const {
    const Argument& from = b_.output();
    const ContractionParts& p = parts_;
    size_t rank = from.shape.size(), channel = conv_ ? 1 : rank - 1;
    Argument to{from.dtype, {}, {}};
    auto push = [&](const Dim& size, const Dim& stride) {
      to.shape.push_back(size), to.strides.push_back(stride);
    };
    for (size_t i = 0; i < p.batch.size(); ++i) push(from.shape[i], from.strides[i]);
    const Dim& step = from.strides[channel];
    if (p.group > 1) push(p.group, step * p.channels);
    if (p.tile.exact) push(p.panels, p.lanes_apart ? step : step * p.tile.panel);
    for (size_t i = 0; i < p.pixels.size(); ++i)
      push(p.pixel_extents[i], from.strides[i + (conv_ ? 2 : rank - 2)]);
    push(p.tile.exact ? Dim(p.tile.panel) : p.channels, p.lanes_apart ? step * p.panels : step);
    return to;
  }

  KernelBuilder& b_;
  const Node& node_;
  bool conv_;
  std::optional<StageAs> stage_as_;  // nullopt if the input is read as it is
  StagedInput staged_;               // input of a convolution
  SymbolicShape out_sizes_;
  Shape kernel_;
  Dim depth_ = 1;  // input channels of a group, up to a whole number of dot products
  ContractionParts parts_;
};

}  // namespace

BuiltKernel build_contraction(KernelBuilder& builder) { return ContractionBuilder(builder).build(); }

}  // namespace intarsia::halide
