// Reductions over some axes with the elementwise operators around them (Softmax, the normalizations, means):
// a row is everything that is reduced together. Values that a row needs more than once stay in a small buffer
// while the row is computed.
#include <algorithm>
#include <map>
#include <ranges>

#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/math.h"
#include "backends/halide/build/run_tiles.h"

namespace intarsia::halide {
namespace {

using Halide::TailStrategy;
using Halide::VarOrRVar;

class ReductionBuilder {
 public:
  explicit ReductionBuilder(KernelBuilder& b) : b_(b) {
    for (const Node& node : b.body().nodes)
      if (form_of(node) == Form::reduction) {
        full_ = b.sizes(node.inputs[0]);
        for (int64_t axis : reduced_axes(node)) reduced_axes_.push_back(static_cast<size_t>(axis));
        break;
      }
    vars_ = make_vars(full_.size(), "i");
    for (size_t i = 0; i < full_.size(); ++i)
      if (!is_reduced(i)) kept_.push_back(vars_[i]);
    has_arg_ = std::ranges::any_of(b_.body().nodes, [](const Node& node) {
      return op_of(node) == CoreOp::arg_max || op_of(node) == CoreOp::arg_min;
    });
    lane_axis_ = choose_lane_axis();
    lanes_in_row_ = is_reduced(lane_axis_);
    choose_groups();
  }

  BuiltKernel build() {
    for (const Node& node : b_.body().nodes)
      form_of(node) == Form::reduction ? add_reduction(node) : add_elementwise(node);
    out_ = Func("out");
    Exprs index = to_exprs(vars_);
    out_(b_.output_vars(vars_)) = stored(b_.broadcast_at(b_.body().outputs[0], index));
    schedule();
    return b_.finish(out_, b_.output());
  }

 private:
  bool is_reduced(size_t axis) const { return std::ranges::find(reduced_axes_, axis) != reduced_axes_.end(); }

  /// Returns the axis along which vectors run: the innermost one of an input of full size, else of the
  /// output. The index of an extreme element is searched for element by element, so vectors then run along
  /// rows, if there are enough, of few elements: longer ones that are read side by side evict each other.
  size_t choose_lane_axis() const {
    const Argument* largest = &b_.output();
    for (size_t i = 0; i < b_.kernel().inputs.size(); ++i)
      if (b_.input(i).shape == full_) {
        largest = &b_.input(i);
        break;
      }
    std::vector<size_t> order = storage_order(largest->strides);
    size_t at = order.size();
    while (at > 1 && largest->shape[order[at - 1]] == 1) --at;
    constexpr int64_t few_elements = 256;
    const bool needs_rows = has_arg_ && b_.mapping() == Mapping::loops && is_reduced(order[at - 1]) &&
                            typical(full_[order[at - 1]]) <= few_elements;
    for (size_t outer = at; needs_rows && outer > 0; --outer) {
      const size_t axis = order[outer - 1];
      const Dim& rows = full_[axis];
      if (!is_reduced(axis) && rows.is_number() && rows.number() >= b_.lanes()) return axis;
    }
    return order[at - 1];
  }

  /// Chooses how many items of a group work on a row, side by side, along which axis; 1 where an item has a
  /// row of its own. Rows that lie in memory are read in order; others where there are too few of them to
  /// occupy a GPU. An index of an extreme element is searched for element by element.
  void choose_groups() {
    if (!b_.isa().runs_groups() || has_arg_) return;
    constexpr int64_t few_rows = 16384, fewest_elements = 12;
    const int64_t most = b_.isa().group_items;
    if (lanes_in_row_) {
      if (typical(full_[lane_axis_]) >= most) row_items_ = most;
      return;
    }
    size_t longest = reduced_axes_[0];
    int64_t rows = element_count(typical_shape(full_));
    for (size_t axis : reduced_axes_) {
      rows /= std::max<int64_t>(typical(full_[axis]), 1);
      if (typical(full_[axis]) > typical(full_[longest])) longest = axis;
    }
    if (rows > few_rows || typical(full_[longest]) < fewest_elements) return;
    lane_axis_ = longest;
    lanes_in_row_ = true;
    for (row_items_ = 16; row_items_ < std::min(most, typical(full_[longest]));) row_items_ *= 2;
  }

  bool has_groups() const { return row_items_ > 1; }

  size_t uses(ValueId value) const {
    size_t count = 0;
    for (const Node& node : b_.body().nodes)
      count += static_cast<size_t>(std::ranges::count(node.inputs, value));
    return count;
  }

  void add_elementwise(const Node& node) {
    ValueId out = node.outputs[0];
    Exprs index = to_exprs(vars_), inputs;
    const SymbolicShape& shape = b_.sizes(out);
    for (ValueId input : node.inputs) inputs.push_back(b_.broadcast_at(input, index));
    Expr value = build_elementwise(b_.isa(), node, inputs, b_.type(out));
    bool full = shape == full_;
    Func f(full ? "full" : "reduced");
    // A value of one element per row has no index along the reduced axes.
    if (full)
      f(vars_) = value;
    else
      f(kept_) = value;
    b_.operand(out) = {shape, [f, full, this](const Exprs& at) { return full ? f(at) : f(kept_part(at)); }};
    if (uses(out) > 1 && out != b_.body().outputs[0] && (!full || keeps_rows()))
      (full ? row_funcs_ : value_funcs_).push_back(f);
    if (!full && uses(out) == 1) value_funcs_.push_back(f);
    if (!full && uses(out) > 0 && !lanes_in_row_) vectorized_.push_back(f);
  }

  /// Checks whether values that are needed more than once of each element stay in a buffer. A work item has
  /// no room for a long row, and computes them again. A GPU sets memory aside for all items that it can run,
  /// some hundred thousand.
  bool keeps_rows() const {
    const int64_t longest = has_groups() ? 0 : b_.isa().runs_groups() ? 64 : 65536;
    Dim elements = 1;
    for (size_t axis : reduced_axes_) elements = elements * full_[axis];
    return b_.mapping() == Mapping::loops || (elements.is_number() && elements.number() <= longest);
  }

  Exprs kept_part(const Exprs& at) const {
    Exprs part;
    for (size_t i = 0; i < at.size(); ++i)
      if (!is_reduced(i)) part.push_back(at[i]);
    return part;
  }

  Expr identity_of(CoreOp op, Halide::Type type) const {
    if (op == CoreOp::reduce_max) return least_of(type);
    if (op == CoreOp::reduce_min) return greatest_of(type);
    return op == CoreOp::reduce_prod ? Halide::Internal::make_one(type) : Halide::Internal::make_zero(type);
  }

  static Expr combine(const Node& node, const Expr& a, const Expr& b) {
    const CoreOp op = op_of(node);
    const bool max = op == CoreOp::reduce_max, skip_nan = attributes_of<ReductionAttributes>(node).skip_nan;
    if (max || op == CoreOp::reduce_min)
      return strictly({a, b}, [=](const Exprs& in) {
        if (skip_nan) return max ? Halide::max(in[0], in[1]) : Halide::min(in[0], in[1]);
        return max ? larger(in[0], in[1]) : smaller(in[0], in[1]);
      });
    return op == CoreOp::reduce_prod ? a * b : a + b;
  }

  void add_reduction(const Node& node) {
    if (op_of(node) == CoreOp::arg_max || op_of(node) == CoreOp::arg_min) return add_arg(node);
    Func total("total");
    Halide::Type type = b_.type(node.outputs[0]);
    Expr identity = identity_of(op_of(node), type);
    int vector = b_.lanes();
    const int64_t extent = typical(full_[lane_axis_]);
    // Elements left over are computed one by one: fewer lanes leave fewer where the length is open.
    const bool is_long = full_[lane_axis_].is_number() && extent >= 4 * vector;
    if (has_groups())
      reduce_in_group(node, total, identity);
    else if (lanes_in_row_ && extent >= vector)
      reduce_in_lanes(node, total, identity, is_long ? 4 * vector : vector);
    else
      reduce_serially(node, total, identity);
    value_funcs_.push_back(total);
    Dim count = 1;
    for (size_t axis : reduced_axes_) count = count * full_[axis];
    Expr divisor = op_of(node) == CoreOp::reduce_mean ? Halide::cast(type, b_.size(count)) : Expr();
    b_.operand(node.outputs[0]) = {b_.sizes(node.outputs[0]), [total, divisor, this](const Exprs& at) {
                                     Expr value = total(kept_part(at));
                                     if (!divisor.defined()) return value;
                                     return strictly({value, divisor},
                                                     [](const Exprs& in) { return in[0] / in[1]; });
                                   }};
  }

  /// Returns the index of the row's elements. `lane`, if defined, is the index along the lane axis; the
  /// others are variables of `r` from number `first` on.
  Exprs row_index(const RDom& r, size_t first, const Expr& lane) const {
    Exprs at = to_exprs(vars_);
    size_t next = first;
    for (size_t axis : std::views::reverse(reduced_axes_))
      at[axis] = lane.defined() && axis == lane_axis_ ? lane : Expr(r[as_int(static_cast<int64_t>(next++))]);
    return at;
  }

  /// Returns the ranges of the reduced axes, the last one innermost, without the lane axis if lanes run along
  /// it. They are created in the order in which they run: loops of a strict maximum cannot be interchanged
  /// later.
  Halide::Region row_region(bool without_lanes) const {
    Halide::Region region;
    for (size_t axis : std::views::reverse(reduced_axes_))
      if (!without_lanes || axis != lane_axis_) region.push_back({0, b_.size(full_[axis])});
    return region;
  }

  void reduce_serially(const Node& node, Func total, const Expr& identity) {
    const Operand& from = b_.operand(node.inputs[0]);
    if (std::ranges::all_of(reduced_axes_, [&](size_t axis) { return full_[axis] == 1; }))
      return take_only_element(node, total, identity, from);
    RDom r(row_region(false), "r");
    total(kept_) = identity;
    total(kept_) = combine(node, total(kept_), from.at(row_index(r, 0, Expr())));
    if (lanes_in_row_) return;
    std::vector<VarOrRVar> order{vars_[lane_axis_]};
    for (int i = 0; i < r.dimensions(); ++i) order.emplace_back(r[i]);
    total.update().reorder(order);
    vectorized_.push_back(total);
  }

  /// Reduces a row of one element. It may be another reduction's result, in which no loop over the row would
  /// appear.
  void take_only_element(const Node& node, Func total, const Expr& identity, const Operand& from) {
    Exprs at = to_exprs(vars_);
    for (size_t axis : reduced_axes_) at[axis] = 0;
    total(kept_) = combine(node, identity, from.at(at));
    if (!lanes_in_row_) vectorized_.push_back(total);
  }

  /// Reduces to `width` partial results side by side, then the elements left over one after the other, then
  /// combines both.
  void reduce_in_lanes(const Node& node, Func total, const Expr& identity, int width) {
    Var u("u");
    Func partial("partial");
    std::vector<Var> index{u};
    index.insert(index.end(), kept_.begin(), kept_.end());
    const Dim &extent = full_[lane_axis_], rounds = floor_div(extent, width);
    const Operand& from = b_.operand(node.inputs[0]);
    Halide::Region region = row_region(true);
    region.insert(region.begin(), {0, b_.size(rounds)});
    RDom r(region, "r");
    partial(index) = identity;
    partial(index) = combine(node, partial(index), from.at(row_index(r, 1, r[0] * width + u)));
    std::vector<VarOrRVar> order{u};
    for (int i = 0; i < r.dimensions(); ++i) order.emplace_back(r[i]);
    partial.update().reorder(order);
    for (Halide::Stage stage : {Halide::Stage(partial), partial.update()}) {
      stage.vectorize(u, b_.lanes());
      if (width > b_.lanes()) stage.unroll(u);
    }
    partial_funcs_.push_back(partial);
    Exprs first{0};
    first.insert(first.end(), kept_.begin(), kept_.end());
    Expr result = fold_lanes(node, partial, index, width)(first);
    if (const Dim left_over = extent - rounds * width; left_over != 0) {
      Halide::Region left = row_region(true);
      left.insert(left.begin(), {b_.size(rounds * width), b_.size(left_over)});
      RDom tail(left, "tail");
      // Halide computes in the order of names: with a name after `folded`, `rest` would take over the memory
      // of `folded`, and each element would go through a vector.
      Func rest("elements_left");
      rest(kept_) = identity;
      rest(kept_) = combine(node, rest(kept_), from.at(row_index(tail, 1, tail[0])));
      partial_funcs_.push_back(rest);
      result = combine(node, rest(kept_), result);
    }
    total(kept_) = result;
  }

  /// Reduces to a partial result of each item of a group, then combines these.
  void reduce_in_group(const Node& node, Func total, const Expr& identity) {
    const Var u("u");
    Func partial("partial");
    std::vector<Var> index{u};
    index.insert(index.end(), kept_.begin(), kept_.end());
    const int items = as_int(row_items_);
    const Dim& all = full_[lane_axis_];
    const Expr extent = b_.size(all);
    Halide::Region region = row_region(true);
    region.insert(region.begin(), {0, b_.size(ceil_div(all, items))});
    const RDom r(region, "r");
    const Expr at = r[0] * items + u;
    Expr value = b_.operand(node.inputs[0]).at(row_index(r, 1, Halide::min(at, extent - 1)));
    if (!all.is_number() || all.number() % items != 0) value = Halide::select(at < extent, value, identity);
    partial(index) = identity;
    partial(index) = combine(node, partial(index), value);
    std::vector<VarOrRVar> order;
    for (int i = 0; i < r.dimensions(); ++i) order.emplace_back(r[i]);
    order.emplace_back(u);
    partial.gpu_threads(u);
    partial.update().reorder(order).gpu_threads(u);
    partial_funcs_.push_back(partial);
    Exprs first{0};
    first.insert(first.end(), kept_.begin(), kept_.end());
    total(kept_) = fold_lanes(node, partial, index, items)(first);
  }

  /// Combines the upper half of the lanes with the lower one until one is left: a chain of 64 comparisons
  /// takes longer than a row.
  Func fold_lanes(const Node& node, Func lanes, const std::vector<Var>& index, int width) {
    for (int half = width / 2; half >= 1; half /= 2) {
      Func folded("folded");
      Exprs low = to_exprs(index), high = low;
      high[0] = index[0] + half;
      folded(index) = combine(node, lanes(low), lanes(high));
      folded.bound(index[0], 0, half);
      if (has_groups())
        folded.gpu_threads(index[0]);
      else
        folded.vectorize(index[0], std::min(half, b_.lanes()));
      if (!has_groups() && half > b_.lanes()) folded.unroll(index[0]);
      partial_funcs_.push_back(folded);
      lanes = folded;
    }
    return lanes;
  }

  void add_arg(const Node& node) {
    Func best("best");
    Exprs at;
    RDom r(row_region(false), "r");
    Expr value = b_.operand(node.inputs[0]).at(row_index(r, 0, Expr()));
    Halide::Type type = value.type();
    bool last = attributes_of<ArgAttributes>(node).last, max = op_of(node) == CoreOp::arg_max;
    Expr start = max ? least_of(type) : greatest_of(type);
    best(kept_) = Halide::Tuple(start, -1);
    Expr held = best(kept_)[0],
         better = max ? (last ? value >= held : value > held) : (last ? value <= held : value < held);
    better = better || best(kept_)[1] < 0;
    best(kept_) = Halide::Tuple(Halide::select(better, value, held),
                                Halide::select(better, Expr(r[0]), best(kept_)[1]));
    value_funcs_.push_back(best);
    if (!lanes_in_row_) {
      best.update().reorder(vars_[lane_axis_], r[0]);
      vectorized_.push_back(best);
    }
    b_.operand(node.outputs[0]) = {b_.sizes(node.outputs[0]), [best, this](const Exprs& index) {
                                     return Halide::cast<int64_t>(best(kept_part(index))[1]);
                                   }};
  }

  /// Schedules a group for each row; its items take elements in turn.
  void schedule_groups() {
    std::vector<VarOrRVar> loops;
    std::vector<Var> outer;
    const Var lane = vars_[lane_axis_], round("round"), item("item");
    const bool writes_row = b_.output().shape[lane_axis_] == full_[lane_axis_];
    if (writes_row) {
      out_.split(lane, round, item, as_int(row_items_), TailStrategy::GuardWithIf);
      loops = {round};
    }
    const std::vector<size_t> order = storage_order(b_.kernel().output.strides);
    for (size_t i = order.size(); i-- > 0;) {
      if (order[i] == lane_axis_) continue;
      if (is_reduced(order[i]))
        loops.emplace_back(vars_[order[i]]);
      else
        outer.push_back(vars_[order[i]]);
    }
    if (writes_row) loops.emplace_back(item);
    if (!writes_row) loops.emplace_back(lane);
    loops.insert(loops.end(), outer.begin(), outer.end());
    out_.reorder(loops);
    const Var group = make_groups(b_, out_, outer);
    if (writes_row) out_.gpu_threads(item);
    for (Func f : value_funcs_) f.compute_at(out_, group);
    for (Func f : partial_funcs_) f.compute_at(out_, group);
  }

  void schedule() {
    if (has_groups()) return schedule_groups();
    const Argument& argument = b_.output();
    int lanes = b_.lanes();
    bool full_output = argument.shape == full_;
    std::vector<size_t> order = storage_order(b_.kernel().output.strides);
    std::vector<VarOrRVar> loops;
    std::vector<Var> outer;
    Var lane = vars_[lane_axis_], lane_outer("lo"), lane_inner("li");
    for (size_t i = order.size(); i-- > 0;)
      if (is_reduced(order[i])) loops.emplace_back(vars_[order[i]]);
    const Dim& extent = full_[lane_axis_];
    const bool is_open = !extent.is_number();
    // Kept axes of open size have no vectors yet.
    const int factor = is_open && !lanes_in_row_ ? 1 : vector_factor(typical(extent), lanes);
    if (!lanes_in_row_) {
      out_.split(lane, lane_outer, lane_inner, factor, TailStrategy::ShiftInwards);
      loops.insert(loops.begin(), lane_inner);
      outer.push_back(lane_outer);
    }
    for (size_t i = order.size(); i-- > 0;)
      if (!is_reduced(order[i]) && (lanes_in_row_ || order[i] != lane_axis_))
        outer.push_back(vars_[order[i]]);
    loops.insert(loops.end(), outer.begin(), outer.end());
    out_.reorder(loops);
    if (!lanes_in_row_)
      out_.vectorize(lane_inner);
    else if (full_output && factor > 1 && !is_open)  // in-place code must not write an element twice
      out_.vectorize(lane, factor,
                     b_.kernel().in_place ? TailStrategy::GuardWithIf : TailStrategy::ShiftInwards);
    const Halide::LoopLevel row = run_tiles(b_, out_, outer);
    for (Func f : value_funcs_) f.compute_at(row);
    for (Func f : partial_funcs_) f.compute_at(row);
    for (Func f : row_funcs_) {
      f.compute_at(row);
      if (factor > 1) vectorize_rows(store_lanes_innermost(f), factor);
    }
    for (Func f : vectorized_) {
      f.vectorize(lane, factor);
      if (f.has_update_definition()) f.update().vectorize(lane, factor);
    }
    parallelize(outer);
    if (lanes_in_row_ && full_output && factor > 1 && is_open) vectorize_rows(out_, factor);
  }

  /// Vectorizes a function along rows, if they are as long as a vector.
  void vectorize_rows(Func f, int factor) const {
    const Dim& extent = full_[lane_axis_];
    const Var& lane = vars_[lane_axis_];
    if (extent.is_number())
      f.vectorize(lane, factor, TailStrategy::ShiftInwards);
    else
      f.specialize(b_.size(extent) >= factor).vectorize(lane, factor, TailStrategy::ShiftInwards);
  }

  /// Stores the lane axis innermost in a row's buffer.
  Func store_lanes_innermost(Func f) const {
    std::vector<Var> order{vars_[lane_axis_]};
    for (size_t i = vars_.size(); i-- > 0;)
      if (i != lane_axis_) order.push_back(vars_[i]);
    return order.size() > 1 ? f.reorder_storage(order) : f;
  }

  void parallelize(const std::vector<Var>& outer) {
    const Shape full = typical_shape(full_);
    if (b_.kernel().threads < 2 || element_count(full) < 32768) return;
    for (size_t i = outer.size(); i-- > 0;)
      for (size_t axis = 0; axis < vars_.size(); ++axis)
        if (vars_[axis].name() == outer[i].name() && full[axis] >= b_.kernel().threads) {
          out_.parallel(outer[i]);
          return;
        }
    if (!lanes_in_row_ && full[lane_axis_] >= 4 * b_.lanes()) out_.parallel(outer[0]);
  }

  KernelBuilder& b_;
  SymbolicShape full_;
  std::vector<size_t> reduced_axes_;
  std::vector<Var> vars_, kept_;
  bool has_arg_ = false;
  size_t lane_axis_ = 0;
  bool lanes_in_row_ = false;
  int64_t row_items_ = 1;  // work items that compute a row together
  Func out_;
  std::vector<Func> value_funcs_;  // functions with one element per row
  std::vector<Func> partial_funcs_;
  std::vector<Func> row_funcs_;   // functions with a whole row
  std::vector<Func> vectorized_;  // members of value_funcs_, along the kept lane axis
};

}  // namespace

BuiltKernel build_reduction(KernelBuilder& builder) { return ReductionBuilder(builder).build(); }

}  // namespace intarsia::halide
