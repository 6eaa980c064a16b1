// Attention for a block of rows at a time: the scores of its queries by all keys, the softmax of each row,
// the product with the values. The keys are packed into panels for each batch element. The last panel is
// filled up with copies of the last key, which change no maximum; their exponentials are set to zero. Rows
// are divided by their sums after the second product, whose rows are shorter than those of the scores. With
// tile registers (AMX), the factors of both products are rounded to bf16, and values are packed, too.
#include <algorithm>

#include "backends/halide/build/amx_products.h"
#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/convert.h"
#include "backends/halide/build/math.h"
#include "backends/halide/build/product_loops.h"
#include "backends/halide/build/schedule_contraction.h"
#include "backends/halide/schedule/amx_schedule.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;
using Halide::VarOrRVar;

/// Minimum number of multiply-adds that is worth a second thread.
constexpr int64_t min_work_for_threads = 500000;

class AttentionBuilder {
 public:
  explicit AttentionBuilder(KernelBuilder& b)
      : b_(b),
        nodes_(b.kernel().attention().nodes),
        sizes_(attention_sizes(b.kernel().with_typical_sizes().body, nodes_)),
        schedule_(b.kernel().attention().schedule) {
    const SymbolicShape& out = b.sizes(b.anchor().outputs[0]);
    batch_extents_.assign(out.begin(), out.end() - 2);
    rows_ = out[out.size() - 2];
    keys_ = b.sizes(node(nodes_.scores).outputs[0]).back();
    batch_ = make_vars(batch_extents_.size(), "n");
    panel_ = schedule_.scores.panel, lanes_ = schedule_.scores.lanes;
    panels_ = ceil_div(keys_, panel_);
  }

  BuiltKernel build() {
    multiply_by_keys();
    find_largest();
    exponentiate();
    multiply_by_values();
    schedule_output();
    schedule_product(acc_, out_, schedule_.product, c_, values_sum_);
    schedule_scores();
    schedule_rows();
    if (schedule_.on_amx) schedule_copies();
    BuiltKernel built = b_.finish(out_, b_.output());
    if (schedule_.on_amx) built.amx_sums = {scores_acc_.name(), acc_.name()};
    return built;
  }

 private:
  const Node& node(NodeId id) const { return b_.body().node(id); }

  /// Returns an index of variables or expressions, followed by the batch variables.
  template <typename T>
  std::vector<T> with_batch(std::vector<T> index) const {
    index.insert(index.end(), batch_.rbegin(), batch_.rend());
    return index;
  }

  Expr matrix(ValueId value, Expr row, Expr column) {
    Exprs at = to_exprs(batch_);
    at.insert(at.end(), {std::move(row), std::move(column)});
    return b_.matrix_at(value, at);
  }

  void multiply_by_keys() {
    const Node& product = node(nodes_.scores);
    const Expr key = Halide::min(Halide::likely(co_ * as_int(panel_) + ci_), b_.size(keys_ - 1));
    if (schedule_.on_amx) {
      multiply_by_rounded_keys(product, key);
    } else {
      pack_(with_batch<Var>({ci_, k_, co_})) = matrix(product.inputs[1], k_, key);
      scores_sum_ = RDom(0, as_int(sizes_.depth), "r");
      scores_acc_(with_batch<Var>({ci_, x_, co_})) = 0.0f;
      scores_acc_(with_batch<Var>({ci_, x_, co_})) +=
          pack_(with_batch<Expr>({ci_, scores_sum_, co_})) * matrix(product.inputs[0], query(), scores_sum_);
    }
    Exprs at = to_exprs(batch_);
    at.insert(at.end(), {query(), key});
    const NodeId last = nodes_.between.empty() ? nodes_.scores : nodes_.between.back();
    scores_(with_batch<Var>({ci_, co_, x_})) = b_.value_after(
        nodes_.scores, scores_acc_(with_batch<Expr>({ci_, x_, co_})), node(last).outputs[0], at);
  }

  /// Multiplies keys, packed in pairs along the depth, by a copy of the queries in blocks of 32 along it.
  void multiply_by_rounded_keys(const Node& product, const Expr& key) {
    const int last = as_int(sizes_.depth - 1);
    const bool fills_blocks = sizes_.depth % amx_pairs == 0;
    const auto padded = [&](const Expr& depth, const Expr& number) {
      return fills_blocks ? number
                          : Halide::select(depth <= last, number, Halide::Internal::make_zero(number.type()));
    };
    const auto key_at = [&](const Expr& depth) {
      return padded(depth, matrix(product.inputs[1], fills_blocks ? depth : Halide::min(depth, last), key));
    };
    pack_(with_batch<Var>({ci_, k_, co_})) = pack_pair(key_at(k_ * 2), key_at(k_ * 2 + 1));
    const Expr depth = k_ * amx_pairs + lane_;
    queries_(with_batch<Var>({lane_, x_, k_})) = padded(
        depth,
        round_pairs_to_bf16(matrix(product.inputs[0], x_, fills_blocks ? depth : Halide::min(depth, last))));
    scores_sum_ = RDom(0, 2, 0, amx_tile, 0, as_int(sizes_.depth + amx_pairs - 1) / amx_pairs, "r");
    const RDom& r = scores_sum_;
    scores_acc_(with_batch<Var>({ci_, x_, co_})) = Halide::undef<float>();
    scores_acc_(with_batch<Var>({ci_, x_, co_})) +=
        number_of_pair(pack_(with_batch<Expr>({ci_, r[2] * amx_tile + r[1], co_})), r[0]) *
        Halide::cast<float>(queries_(with_batch<Expr>({r[1] * 2 + r[0], x_, r[2]})));
  }

  /// Returns the row that scores are computed of: where the number of rows is open, the last tile is filled
  /// up with copies of the last one.
  Expr query() const {
    return rows_.is_number() ? Expr(x_) : Halide::min(Halide::likely(x_), b_.size(rows_ - 1));
  }

  /// Combines the upper half of the lanes with the lower one, repeatedly, until one lane is left.
  Func fold(Func lanes, const std::function<Expr(Expr, Expr)>& combine) {
    for (int64_t half = lanes_ / 2; half >= 1; half /= 2) {
      Func folded("folded");
      folded(with_batch<Var>({ci_, x_})) =
          combine(lanes(with_batch<Expr>({ci_, x_})), lanes(with_batch<Expr>({ci_ + as_int(half), x_})));
      folded.bound(ci_, 0, as_int(half)).vectorize(ci_, as_int(half));
      of_row_.push_back(folded);
      lanes = folded;
    }
    return lanes;
  }

  void find_largest() {
    auto larger_number = [](const Expr& a, const Expr& b) {
      return strictly({a, b}, [](const Exprs& in) { return Halide::max(in[0], in[1]); });
    };
    RDom r(0, as_int(panel_ / lanes_), 0, b_.size(panels_), "r");
    Func partial("largest");
    partial(with_batch<Var>({ci_, x_})) = least_of(Halide::Float(32));
    partial(with_batch<Var>({ci_, x_})) =
        larger_number(partial(with_batch<Expr>({ci_, x_})),
                      scores_(with_batch<Expr>({r.x * as_int(lanes_) + ci_, r.y, x_})));
    add_partial(partial, r);
    largest_ = fold(partial, larger_number);
  }

  void add_partial(Func partial, const RDom& r) {
    std::vector<VarOrRVar> order{ci_};
    for (int i = 0; i < r.dimensions(); ++i) order.emplace_back(r[i]);
    partial.vectorize(ci_, as_int(lanes_)).update().reorder(order).vectorize(ci_, as_int(lanes_));
    of_row_.push_back(partial);
  }

  void exponentiate() {
    const int panel = as_int(panel_);
    const Expr score = scores_(with_batch<Expr>({j_ % panel, j_ / panel, x_})),
               largest = largest_(with_batch<Expr>({0, x_}));
    const Expr shifted =
        build_elementwise(b_.isa(), node(nodes_.shifted), {score, largest}, Halide::Float(32));
    const Expr exponent = build_elementwise(b_.isa(), node(nodes_.exponents), {shifted}, Halide::Float(32));
    const Expr weight = Halide::select(j_ < b_.size(keys_), Halide::likely(exponent), 0.0f);
    exponents_(with_batch<Var>({j_, x_})) = schedule_.on_amx ? round_pairs_to_bf16(weight) : weight;
    RDom r(0, b_.size(panels_ * (panel_ / lanes_)), "r");
    Func partial("sum");
    partial(with_batch<Var>({ci_, x_})) = 0.0f;
    partial(with_batch<Var>({ci_, x_})) +=
        Halide::cast<float>(exponents_(with_batch<Expr>({r * as_int(lanes_) + ci_, x_})));
    add_partial(partial, r);
    Func sum = fold(partial, [](const Expr& a, const Expr& b) { return a + b; });
    inverse_(with_batch<Var>({x_})) =
        strictly({sum(with_batch<Expr>({0, x_}))}, [](const Exprs& in) { return 1.0f / in[0]; });
    of_row_.push_back(inverse_);
  }

  void multiply_by_values() {
    if (schedule_.on_amx) {
      multiply_by_rounded_values();
    } else {
      values_sum_ = RDom(0, b_.size(keys_), "r");
      acc_(with_batch<Var>({c_, x_})) = 0.0f;
      acc_(with_batch<Var>({c_, x_})) +=
          matrix(b_.anchor().inputs[1], values_sum_, c_) * exponents_(with_batch<Expr>({values_sum_, x_}));
    }
    Expr value = strictly({acc_(with_batch<Expr>({c_, x_})), inverse_(with_batch<Expr>({x_}))},
                          [](const Exprs& in) { return in[0] * in[1]; });
    // Without keys a sum is 0, and its inverse infinite.
    if (!keys_.is_number()) value = Halide::select(b_.size(keys_) > 0, value, 0.0f);
    std::vector<Var> index = batch_;
    index.insert(index.end(), {x_, c_});
    out_(index) = b_.result_at(to_exprs(index), value);
  }

  /// Multiplies exponentials by values, packed in pairs along the keys. Exponentials of keys that fill up a
  /// panel are zero, and so are their values: zero times infinity is NaN.
  void multiply_by_rounded_values() {
    const auto value_at = [&](const Expr& key) {
      const Expr value = matrix(b_.anchor().inputs[1], Halide::min(key, b_.size(keys_ - 1)), c_);
      return Halide::select(key < b_.size(keys_), value, 0.0f);
    };
    values_(with_batch<Var>({c_, k_})) = pack_pair(value_at(k_ * 2), value_at(k_ * 2 + 1));
    values_sum_ = RDom(0, 2, 0, amx_tile, 0, as_int(panels_.number() * panel_ / amx_pairs), "r");
    const RDom& r = values_sum_;
    acc_(with_batch<Var>({c_, x_})) = Halide::undef<float>();
    acc_(with_batch<Var>({c_, x_})) +=
        number_of_pair(values_(with_batch<Expr>({c_, r[2] * amx_tile + r[1]})), r[0]) *
        Halide::cast<float>(exponents_(with_batch<Expr>({r[2] * amx_pairs + r[1] * 2 + r[0], x_})));
  }

  /// Schedules the copies that tile registers read: keys and values once for each batch element, queries for
  /// each block of rows.
  void schedule_copies() {
    const auto compute_for_batch = [&](Func copy) {
      if (batch_.empty())
        copy.compute_root();
      else
        copy.compute_at(out_, batch_.back());
    };
    compute_for_batch(pack_);
    pack_.vectorize(reads_along_keys() ? ci_ : k_, amx_tile);
    compute_for_batch(values_);
    values_.vectorize(c_, amx_tile);
    queries_.compute_at(out_, block_).bound(lane_, 0, amx_pairs).vectorize(lane_);
  }

  void schedule_output() {
    const int64_t tile = schedule_.product.pixels;
    if (rows_.is_number()) return schedule_blocks(out_, as_int(schedule_.rows), tile);
    // Blocks have nearly as many rows each, so at least half of the limit, which is a tile or more.
    const Expr all = b_.size(rows_), most = as_int(std::max(schedule_.rows, 2 * tile));
    const Expr blocks = (all + most - 1) / most, rows = (all + blocks - 1) / blocks;
    if (tile > 1) schedule_blocks(out_.specialize(all >= as_int(tile)), rows, tile);
    schedule_blocks(out_, rows, 1);
  }

  /// Schedules blocks of rows, in tiles.
  void schedule_blocks(Halide::Stage out, const Expr& rows, int64_t tile_rows) {
    const ContractionTile& tile = schedule_.product;
    out.split(x_, block_, rest_, rows, TailStrategy::ShiftInwards)
        .split(rest_, xo_, xi_, as_int(tile_rows), TailStrategy::ShiftInwards)
        .split(c_, co_, ci_, as_int(tile.panel), TailStrategy::ShiftInwards);
    std::vector<VarOrRVar> order{ci_, xi_, xo_, co_, block_};
    order.insert(order.end(), batch_.rbegin(), batch_.rend());
    // The last block starts earlier; separate code for it would be as long again.
    out.reorder(order).partition(block_, Halide::Partition::Never);
    if (!schedule_.on_amx) out.unroll(xi_);
    vectorize_lanes(out, ci_, tile);
    parallelize(out);
  }

  static void vectorize_lanes(Halide::Stage stage, const Var& lane, const ContractionTile& tile) {
    if (tile.lanes > 1) stage.vectorize(lane, as_int(tile.lanes));
    if (tile.panel > tile.lanes) stage.unroll(lane);
  }

  /// Schedules the accumulators of a tile of `of`.
  void schedule_product(Func acc, Func of, const ContractionTile& tile, const Var& lane,
                        const RDom& r) const {
    if (schedule_.on_amx) {
      acc.compute_at(of, xo_).bound_extent(lane, as_int(tile.panel)).store_in(Halide::MemoryType::Stack);
      acc.update().reorder({r[0], r[1], lane, x_, r[2]});
      return;
    }
    acc.compute_at(of, xo_).bound_extent(lane, as_int(tile.panel)).reorder(lane, x_).unroll(x_);
    acc.update().reorder(lane, x_, r.x).unroll(x_);
    vectorize_lanes(acc, lane, tile);
    vectorize_lanes(acc.update(), lane, tile);
  }

  void schedule_scores() {
    const ContractionTile& tile = schedule_.scores;
    // An odd number of panels per row: rows a power of two apart would evict each other from the cache.
    scores_.compute_at(out_, block_).bound_extent(ci_, as_int(panel_));
    if (panels_.is_number()) scores_.align_storage(co_, as_int(panels_.number() | 1));
    scores_
        .split(x_, xo_, xi_, as_int(tile.pixels),
               rows_.is_number() ? TailStrategy::ShiftInwards : TailStrategy::RoundUp)
        .reorder(ci_, xi_, xo_, co_);
    if (!schedule_.on_amx) scores_.unroll(xi_);
    vectorize_lanes(scores_, ci_, tile);
    schedule_product(scores_acc_, scores_, tile, ci_, scores_sum_);
    if (schedule_.on_amx) return;
    // One block of rows reads each panel once: it need not leave the cache.
    if (rows_.is_number() && rows_.number() <= schedule_.rows)
      pack_.compute_at(scores_, co_);
    else if (batch_.empty())
      pack_.compute_root();
    else
      pack_.compute_at(out_, batch_.back());
    schedule_pack({pack_, ci_, k_, sizes_.depth, as_int(lanes_), !reads_along_keys()});
  }

  /// Checks whether neighboring keys lie side by side in memory.
  bool reads_along_keys() {
    const ValueId keys = node(nodes_.scores).inputs[1];
    const auto slot = std::ranges::find(b_.body().inputs, keys) - b_.body().inputs.begin();
    return b_.kernel().inputs[static_cast<size_t>(slot)].strides.back() == 1;
  }

  void schedule_rows() {
    exponents_.compute_at(out_, block_);
    if (panels_.is_number()) exponents_.align_storage(j_, as_int((panels_.number() | 1) * panel_));
    exponents_.split(j_, co_, ci_, as_int(panel_));
    if (schedule_.on_amx)
      exponents_.vectorize(ci_, amx_pairs);
    else
      vectorize_lanes(exponents_, ci_, schedule_.scores);
    for (Func f : of_row_) f.compute_at(out_, block_);
  }

  void parallelize(Halide::Stage out) const {
    const int64_t work = sizes_.batch * sizes_.rows * sizes_.keys * (sizes_.depth + sizes_.channels);
    if (b_.kernel().threads < 2 || work < min_work_for_threads) return;
    for (size_t i = 0; i < batch_.size(); ++i) {
      if (typical(batch_extents_[i]) < b_.kernel().threads) continue;
      out.parallel(batch_[i]);
      if (batch_extents_[i].is_number()) return;
    }
    out.parallel(block_);
  }

  KernelBuilder& b_;
  AttentionNodes nodes_;
  AttentionSizes sizes_;  // typical ones where sizes are open
  AttentionSchedule schedule_;
  SymbolicShape batch_extents_;
  Dim rows_, keys_, panels_;
  int64_t panel_, lanes_;

  // Variables: lane, panel, step along the depth; row; key; channel.
  Var ci_{"ci"}, co_{"co"}, k_{"k"}, x_{"x"}, j_{"j"}, c_{"c"}, lane_{"lane"};
  Var block_{"block"}, rest_{"rest"}, xo_{"xo"}, xi_{"xi"};
  std::vector<Var> batch_;
  RDom scores_sum_, values_sum_;
  Func queries_{"queries"}, values_{"values"};  // copies for tile registers
  Func pack_{"pack"}, scores_acc_{"scores_acc"}, scores_{"scores"}, largest_, exponents_{"exponents"};
  Func inverse_{"inverse"}, acc_{"acc"}, out_{"out"};
  std::vector<Func> of_row_;  // functions with a few numbers per row
};

}  // namespace

BuiltKernel build_attention(KernelBuilder& builder) { return AttentionBuilder(builder).build(); }

}  // namespace intarsia::halide
