// Time step of an LSTM, GRU or RNN (recurrence.h describes its arguments). Gates are in ONNX order: LSTM i,
// o, f, c; GRU z, r, h where linear_before_reset is set, with the bias of h's recurrent part as input 3. For
// other GRUs they are z, h, r, where R of z and h is input 2 and R of r input 3. The sums of all gates of a
// tile's units stay in registers until their functions are taken. Where the batch is open, there is a variant
// of the code for each number of rows in a tile.
#include <algorithm>
#include <ranges>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/math.h"
#include "backends/halide/build/run_tiles.h"
#include "backends/halide/schedule/recurrence.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;
using Halide::VarOrRVar;

/// Multiply-adds of a step that are worth a second thread.
constexpr int64_t min_for_threads = 500000;

class RecurrenceBuilder {
 public:
  explicit RecurrenceBuilder(KernelBuilder& b)
      : b_(b),
        node_(b.anchor()),
        sizes_(recurrence_sizes(b.body(), node_)),
        tile_(b.kernel().recurrence().tile) {
    k_ = RDom(0, as_int(sizes_.hidden), "k");
    if (!sizes_.batch.is_number() && b.mapping() == Mapping::loops)
      open_tiles_ = tiles_by_rows(sizes_, b.isa(), tile_);
  }

  BuiltKernel build() {
    if (op_of(node_) == CoreOp::lstm)
      lstm();
    else if (op_of(node_) == CoreOp::rnn)
      rnn();
    else if (attributes_of<RecurrenceAttributes>(node_).linear_before_reset)
      gru();
    else
      gru_that_resets_before();
    const Halide::LoopLevel rows = schedule_tiles(out_, sums_, true);
    if (keeps_units()) kept_.compute_at(rows);
    return b_.finish(out_, seen_argument());
  }

 private:
  Expr element(size_t input, const Exprs& at) const { return b_.operand(node_.inputs[input]).at(at); }
  Expr unit() const { return block_ * as_int(sizes_.lanes) + lane_; }
  Expr x(Expr gate) const {
    return element(recurrent_x, {n_, (block_ * as_int(sizes_.gates) + gate) * as_int(sizes_.lanes) + lane_});
  }
  Expr before(Expr state, Expr unit) const { return element(recurrent_before, {state, n_, unit}); }

  /// Returns start(gate) + weights * from(gate, unit) as a Func of (lane, gate, block, n).
  template <typename Start, typename From>
  Func sums(const char* name, size_t weights, Start start, From from) const {
    Func sums(name);
    sums(lane_, gate_, block_, n_) = start(gate_);
    const Expr weight = Halide::cast<float>(element(weights, {block_, k_, gate_, lane_}));
    sums(lane_, gate_, block_, n_) += weight * from(gate_, k_);
    return sums;
  }

  Expr sum(int gate) const { return sums_(lane_, gate, block_, n_); }

  void lstm() {
    sums_ = sums(
        "sums", recurrent_weights, [&](Expr gate) { return x(gate); },
        [&](Expr, Expr k) { return before(0, k); });
    cell_ = Func("cell");
    cell_(lane_, block_, n_) =
        divide(sigmoid_ratio(sum(2)) * before(1, unit()) + sigmoid_ratio(sum(0)) * tanh_ratio(sum(3)));
    const Expr cell = cell_(lane_, block_, n_);
    set_state(Halide::select(state_ == 0, divide(sigmoid_ratio(sum(1)) * tanh_ratio(cell)), cell));
  }

  void rnn() {
    sums_ = sums(
        "sums", recurrent_weights, [&](Expr gate) { return x(gate); },
        [&](Expr, Expr k) { return before(0, k); });
    const bool relu = attributes_of<RecurrenceAttributes>(node_).relu;
    set_state(relu ? relu_of(sum(0)) : tanh_of(sum(0)));
  }

  static Expr relu_of(const Expr& x) {
    return strictly({x}, [](const Exprs& in) { return Halide::select(in[0] < 0.0f, 0.0f, in[0]); });
  }

  void set_state(Expr state) {
    if (attributes_of<RecurrenceAttributes>(node_).masked)
      state = choose(element(node_.inputs.size() - 1, {n_}), state, before(state_, unit()));
    out_(b_.output_vars({state_, n_, block_, lane_})) = state;
  }

  /// Returns the new or the old state. On a device by their bits: where a select takes the old one Halide
  /// skips the sums, and compilers of OpenCL C may make any value of what is not written, also after the
  /// select.
  Expr choose(const Expr& is_new, const Expr& state, const Expr& old) const {
    if (b_.mapping() == Mapping::loops) return Halide::select(is_new, state, old);
    const auto bits = [](const Expr& of) { return Halide::reinterpret<uint32_t>(of); };
    const Expr none = Halide::cast<uint32_t>(0), mask = Halide::select(is_new, ~none, none);
    return Halide::reinterpret<float>((bits(state) & mask) | (bits(old) & ~mask));
  }

  static Expr divide(const Ratio& ratio) { return ratio.over / ratio.under; }

  /// Interpolates between the old state and the candidate by the update gate.
  void blend(const Ratio& candidate) {
    const Ratio update = sigmoid_ratio(sum(0));
    const Expr over =
        (update.under - update.over) * candidate.over + update.over * before(0, unit()) * candidate.under;
    set_state(over / (update.under * candidate.under));
  }

  void gru() {
    sums_ = sums(
        "sums", recurrent_weights,
        [&](Expr gate) { return Halide::select(gate == 2, element(3, {unit()}), x(gate)); },
        [&](Expr, Expr k) { return before(0, k); });
    blend(tanh_ratio(x(2) + divide(sigmoid_ratio(sum(1)) * sum(2))));
  }

  void gru_that_resets_before() {
    Func reset_sums =
        sums("reset_sums", 3, [&](Expr) { return x(2); }, [&](Expr, Expr k) { return before(0, k); });
    kept_ = Func("kept");
    kept_(lane_, block_, n_) = divide(sigmoid_ratio(reset_sums(lane_, 0, block_, n_)) * before(0, unit()));
    kept_.bound(lane_, 0, as_int(sizes_.lanes)).bound(block_, 0, as_int(sizes_.blocks));
    if (!keeps_units()) kept_.compute_root().bound(n_, 0, b_.size(sizes_.batch));
    schedule_tiles(kept_, reset_sums, false);
    const int lanes = as_int(sizes_.lanes);
    sums_ = sums(
        "sums", recurrent_weights, [&](Expr gate) { return x(gate); },
        [&](Expr gate, Expr k) {
          return Halide::select(gate == 0, before(0, k), kept_(k % lanes, k / lanes, n_));
        });
    blend(tanh_ratio(sum(1)));
  }

  /// Vectorizes along the lanes of the part of a block that is in a tile.
  void vectorize_lanes(Halide::Stage stage, const Var& lane) const {
    const auto is_wide = [&](const ContractionTile& tile) { return lanes_of(tile) > tile.lanes; };
    if (tile_.lanes > 1) stage.vectorize(lane, as_int(tile_.lanes));
    if (is_wide(tile_) || std::ranges::any_of(open_tiles_, is_wide, &RowsTile::tile)) stage.unroll(lane);
  }

  int64_t lanes_of(const ContractionTile& tile) const { return std::min(tile.panel, sizes_.lanes); }
  int64_t blocks_of(const ContractionTile& tile) const {
    return std::max<int64_t>(tile.panel / sizes_.lanes, 1);
  }

  /// Checks whether a work item holds what all units of its rows keep, and computes all tiles of these rows.
  bool keeps_units() const { return kept_.defined() && b_.mapping() == Mapping::tile_per_item; }

  /// Puts loops over panels of units outside those over rows, so that a panel's weights stay in cache, or
  /// inside where a work item has all panels. Returns the level at which what a work item needs is computed.
  Halide::LoopLevel schedule_tiles(Func f, Func sums, bool has_states) {
    if (has_states) f.bound(state_, 0, as_int(sizes_.states));
    const std::vector<Var> items = keeps_units() ? std::vector<Var>{rows_} : outer_loops();
    Halide::LoopLevel item;
    for (const auto& [stage, tile_of_stage] : variants_for_items(f)) {
      schedule_rows(stage, tile_of_stage, 1, has_states);
      if (has_states) item = run_tiles(b_, f, stage, items);
    }
    if (b_.mapping() == Mapping::loops && sizes_.batch.is_number())
      schedule_rows(f, tile_, sizes_.batch.number(), has_states);
    else if (b_.mapping() == Mapping::loops)
      schedule_variants(f, has_states);
    const std::vector<Var> outer = outer_loops();
    const Halide::LoopLevel tile(f, outer[0]);
    if (!has_states) {
      schedule_sums(sums, tile);
      return tile;
    }
    if (b_.mapping() == Mapping::loops) item = run_tiles(b_, f, outer);
    schedule_sums(sums, keeps_units() ? tile : item);
    if (!cell_.defined()) return item;
    cell_.compute_at(item);
    vectorize_lanes(cell_, lane_);
    cell_.unroll(block_).unroll(n_);
    return item;
  }

  /// Returns the variants of the code for work items, and their tiles: where the batch is open, one for a
  /// tile of rows or more, and one for single rows.
  std::vector<std::pair<Halide::Stage, ContractionTile>> variants_for_items(Func f) const {
    if (b_.mapping() == Mapping::loops) return {};
    if (sizes_.batch.is_number() || tile_.pixels == 1) return {{f, tile_}};
    ContractionTile single = tile_;
    single.pixels = 1;
    return {{f.specialize(b_.size(sizes_.batch) >= as_int(tile_.pixels)), tile_}, {f, single}};
  }

  std::vector<Var> outer_loops() const {
    return keeps_units() ? std::vector<Var>{part_, panel_, rows_} : std::vector<Var>{rows_, part_, panel_};
  }

  /// Schedules the loops of a function for a batch of `batch` rows or more, which are at least those of a
  /// tile.
  void schedule_rows(Halide::Stage f, const ContractionTile& tile, int64_t batch, bool has_states) const {
    f.split(lane_, part_, in_part_, as_int(lanes_of(tile)))
        .split(block_, panel_, in_panel_, as_int(blocks_of(tile)), TailStrategy::ShiftInwards)
        .split(n_, rows_, row_, as_int(tile.pixels), TailStrategy::ShiftInwards);
    std::vector<VarOrRVar> order{in_part_};
    if (has_states) order.emplace_back(state_);
    for (const Var& var : {in_panel_, row_}) order.emplace_back(var);
    const std::vector<Var> outer = outer_loops();
    order.insert(order.end(), outer.begin(), outer.end());
    f.reorder(order);
    vectorize_lanes(f, in_part_);
    f.unroll(in_panel_).unroll(row_);
    if (!has_states) return;
    f.unroll(state_);
    if (worth_threads(tile, batch)) f.parallel(panel_);
  }

  /// Returns the number of rows that tiles of an open batch have: equally many each, at most those of the
  /// largest tile that is nearly as fast as any. Of many rows a tile may repeat some, so it is the one chosen
  /// for them.
  Expr rows_of_tiles() const {
    const auto cycles_of_row = [](const RowsTile& tile) {
      return tile.cycles / static_cast<double>(tile.tile.pixels);
    };
    const double least = std::ranges::min(open_tiles_ | std::views::transform(cycles_of_row));
    int64_t most = 1;
    for (const RowsTile& tile : open_tiles_)
      if (cycles_of_row(tile) < 1.05 * least) most = tile.tile.pixels;
    const Expr batch = b_.size(sizes_.batch), tiles = (batch + as_int(most - 1)) / as_int(most);
    return Halide::select(batch >= as_int(typical_size), as_int(tile_.pixels), (batch + tiles - 1) / tiles);
  }

  /// Schedules the variants for an open batch: with each number of rows in a tile, where threads share the
  /// panels and where they do not.
  void schedule_variants(Func f, bool has_states) const {
    const Expr batch = b_.size(sizes_.batch), rows = rows_of_tiles();
    const int64_t shared = (min_for_threads - 1) / step_operations(1) + 1;  // rows that are worth threads
    for (const auto& [tile, cycles] : open_tiles_)
      if (has_states && shared > 1 && worth_threads(tile, shared))
        schedule_rows(f.specialize(batch >= as_int(shared) && rows == as_int(tile.pixels)), tile, shared,
                      true);
    for (const auto& [tile, cycles] : std::views::reverse(std::span(open_tiles_).subspan(1)))
      schedule_rows(f.specialize(rows == as_int(tile.pixels)), tile, 1, has_states);
    schedule_rows(f, open_tiles_[0].tile, 1, has_states);
  }

  void schedule_sums(Func sums, Halide::LoopLevel level) {
    sums.compute_at(level);
    vectorize_lanes(sums, lane_);
    sums.unroll(gate_).unroll(block_).unroll(n_);
    Halide::Stage update = sums.update();
    update.reorder(lane_, gate_, block_, n_, k_[0]);
    vectorize_lanes(update, lane_);
    update.unroll(gate_).unroll(block_).unroll(n_);
    if (sizes_.hidden % 4 == 0) update.unroll(k_[0], 4);
  }

  bool worth_threads(const ContractionTile& tile, int64_t batch) const {
    const int64_t panels = (sizes_.blocks + blocks_of(tile) - 1) / blocks_of(tile);
    return b_.kernel().threads > 1 && panels >= b_.kernel().threads &&
           step_operations(batch) >= min_for_threads;
  }

  /// Returns the multiply-adds of a step.
  int64_t step_operations(int64_t batch) const {
    return batch * sizes_.blocks * sizes_.lanes * sizes_.gates * sizes_.hidden;
  }

  /// Returns the output with its axis of units seen as (block, lane).
  Argument seen_argument() const {
    Argument seen = b_.output();
    const Dim step = seen.strides.back();
    seen.shape.back() = sizes_.blocks, seen.strides.back() = step * sizes_.lanes;
    seen.shape.push_back(sizes_.lanes), seen.strides.push_back(step);
    return seen;
  }

  KernelBuilder& b_;
  const Node& node_;
  RecurrenceSizes sizes_;
  ContractionTile tile_;
  std::vector<RowsTile> open_tiles_;  // tiles of 1, 2, ... rows where the batch is open
  Var lane_{"lane"}, gate_{"gate"}, block_{"block"}, n_{"n"}, state_{"state"}, panel_{"panel"};
  Var part_{"part"}, in_part_{"in_part"}, in_panel_{"in_panel"}, rows_{"rows"}, row_{"row"};
  RDom k_;  // units that all sums run over
  Func sums_, cell_, out_{"out"};
  Func kept_;  // part of h that the reset gate keeps
};

}  // namespace

BuiltKernel build_recurrence(KernelBuilder& builder) { return RecurrenceBuilder(builder).build(); }

}  // namespace intarsia::halide
