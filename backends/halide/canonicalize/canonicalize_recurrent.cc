// LSTM, GRU and RNN: a matrix product maps the input of all time steps and directions to the gates, then a
// recurrent core operator per direction (recurrence.h) runs over the steps. All weights are rearranged at
// compile time.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/canonicalize/recurrent_weights.h"
#include "backends/halide/core/half_floats.h"

namespace intarsia::halide {
namespace {

/// Inputs of the source operators.
enum SourceInput : size_t { in_x, in_w, in_r, in_bias, in_lengths, in_h, in_c, in_peepholes };

/// Maximum number of units in a block, which lie side by side in memory: the lanes of the widest vectors.
constexpr int64_t max_lanes = 16;

/// Compares names of activations, which are not case-sensitive.
bool equal_words(const std::string& a, const std::string& b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

Status check_attributes(const Rewriter& r, const std::vector<std::string>& wanted) {
  const Attributes& attributes = r.attributes();
  const std::string& op = r.node().op;
  if (attributes.get_float("clip", 0) != 0) return fail("{} with clip is not supported", op);
  if (attributes.get_int("input_forget", 0) != 0) return fail("{} with input_forget is not supported", op);
  if (r.has_input(in_peepholes)) return fail("{} with peepholes is not supported", op);
  const std::vector<std::string> given = attributes.get_strings("activations");
  if (given.size() % wanted.size() != 0) return fail("{} with {} activations", op, given.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (!equal_words(given[i], wanted[i % wanted.size()]))
      return fail("{} with activation {} in place of {} is not supported", op, given[i],
                  wanted[i % wanted.size()]);
  return {};
}

/// Reads the sizes of the layer.
Result<RecurrentLayer> read_layer(const Rewriter& r, CoreOp core_op, int64_t gates, int64_t states) {
  const std::string& op = r.node().op;
  for (size_t i : {in_x, in_w, in_r})
    if (r.rank(r.in(i)) != 3 || r.dtype(r.in(i)) != DType::f32)
      return fail("{} wants f32 of rank 3 as input {}", op, i);
  const Attributes& attributes = r.attributes();
  const std::string direction = attributes.get_string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return fail("{} with direction '{}'", op, direction);
  RecurrentLayer l;
  l.gates = gates, l.states = states;
  const SymbolicShape& x = r.sizes(r.in(in_x));
  if (!x[2].is_number()) return fail("{} of an open number of features is not supported", op);
  l.batch_first = attributes.get_int("layout", 0) != 0;
  l.steps = x[l.batch_first ? 1 : 0], l.batch = x[l.batch_first ? 0 : 1], l.depth = x[2].number();
  l.hidden = r.shape(r.in(in_r))[2];
  if (l.hidden < 1 || attributes.get_int("hidden_size", l.hidden) != l.hidden)
    return fail("{} with hidden_size {} and weights for {}", op, attributes.get_int("hidden_size", l.hidden),
                l.hidden);
  l.directions = direction == "bidirectional" ? 2 : 1;
  while (l.lanes < std::min(l.hidden, max_lanes)) l.lanes *= 2;
  l.blocks = (l.hidden + l.lanes - 1) / l.lanes;
  l.resets_before = core_op == CoreOp::gru && attributes.get_int("linear_before_reset", 0) == 0;
  return l;
}

Status check_input(const Rewriter& r, size_t i, const SymbolicShape& want, bool constant) {
  if (!r.has_input(i)) return {};
  const std::string& op = r.node().op;
  const SymbolicShape& got = r.sizes(r.in(i));
  if (got != want || r.dtype(r.in(i)) != DType::f32)
    return fail("{} has {}{} as input {}, want f32{}", op, dtype_name(r.dtype(r.in(i))), print_shape(got), i,
                print_shape(want));
  if (constant && !r.constant(r.in(i)))
    return fail("{} whose input {} is not known at compile time is not supported", op, i);
  return {};
}

Status check_inputs(const Rewriter& r, const RecurrentLayer& l) {
  const SymbolicShape state = l.batch_first ? SymbolicShape{l.batch, l.directions, l.hidden}
                                            : SymbolicShape{l.directions, l.batch, l.hidden};
  TRY(check_input(r, in_w, {l.directions, l.gates * l.hidden, l.depth}, true));
  TRY(check_input(r, in_r, {l.directions, l.gates * l.hidden, l.hidden}, true));
  TRY(check_input(r, in_bias, {l.directions, 2 * l.gates * l.hidden}, true));
  TRY(check_input(r, in_h, state, false));
  if (l.states == 2) TRY(check_input(r, in_c, state, false));
  if (r.has_input(in_lengths)) {
    const ValueId lengths = r.in(in_lengths);
    if (r.sizes(lengths) != SymbolicShape{l.batch} || r.dtype(lengths) != DType::i32)
      return fail("{} has {}{} as input {}, want i32{}", r.node().op, dtype_name(r.dtype(lengths)),
                  print_shape(r.sizes(lengths)), static_cast<size_t>(in_lengths),
                  print_shape(SymbolicShape{l.batch}));
  }
  const Dim elements = l.steps * l.batch * (l.directions * l.columns());
  if (!elements.is_known() || (elements.is_number() && elements.number() > max_elements))
    return fail("{} whose gates take {} elements is not supported", r.node().op, elements.print());
  return {};
}

/// Checks whether sequences may end before the last step.
bool has_shorter_sequences(const Rewriter& r, const RecurrentLayer& l) {
  if (!r.has_input(in_lengths)) return false;
  const Tensor* lengths = r.constant(r.in(in_lengths));
  return !lengths ||
         !std::ranges::all_of(lengths->as<int32_t>(), [&](int32_t length) { return length == l.steps; });
}

/// Returns a constant input's numbers; none where it is omitted.
std::span<const float> numbers(const Rewriter& r, size_t input) {
  return r.has_input(input) ? r.constant(r.in(input))->as<float>() : std::span<const float>();
}

bool is_known(const Rewriter& r, size_t input) { return !r.has_input(input) || r.constant(r.in(input)); }

/// Core operators that compute a layer.
class Recurrent {
 public:
  Recurrent(Rewriter& r, CoreOp op, const RecurrentLayer& layer) : r_(r), op_(op), layer_(layer) {}

  void rewrite(const std::string& activation) {
    const ValueId x = input_products();
    if (has_shorter_sequences(r_, layer_))
      mask_ = r_.emit(CoreOp::sequence_mask, {r_.in(in_lengths)}, DType::boolean,
                      SymbolicShape{layer_.steps, layer_.batch});
    std::vector<ValueId> states;
    for (int64_t d = 0; d < layer_.directions; ++d) states.push_back(recurrence(x, d, activation));
    set_outputs(states);
  }

 private:
  bool runs_backwards(int64_t d) const {
    return d == 1 || r_.attributes().get_string("direction", "forward") == "reverse";
  }

  /// Adds weights in the floats of 16 bits that the model has them in, if it does and all are finite.
  ValueId weights_of(const Tensor& weights, size_t input) {
    const DType dtype = r_.dtype(r_.stored_in(input));
    const auto is_finite = [](float weight) { return std::isfinite(weight); };
    const bool fits = is_half_float(dtype) && std::ranges::all_of(weights.as<float>(), is_finite);
    return r_.add_constant(fits ? narrowed(weights, dtype) : weights);
  }

  /// Returns the products of the input by its weights, [steps, batch, columns of all directions].
  ValueId input_products() {
    const RecurrentLayer& l = layer_;
    const int64_t columns = l.directions * l.columns();
    const ValueId weights = weights_of(arrange_input_weights(l, numbers(r_, in_w)), in_w);
    const bool has_halves = r_.dtype(weights) == r_.dtype(r_.stored_in(in_x));
    const ValueId rows =
        r_.reshape(has_halves ? r_.stored_in(in_x) : r_.in(in_x), {l.steps * l.batch, l.depth});
    ValueId x = r_.emit(CoreOp::matmul, {rows, weights}, DType::f32,
                        SymbolicShape{l.steps * l.batch, columns}, MatMulAttributes{});
    if (r_.has_input(in_bias))
      x = r_.emit_elementwise(CoreOp::add, {x, r_.add_constant(arrange_input_bias(l, numbers(r_, in_bias)))});
    if (l.batch_first) return r_.transpose(r_.reshape(x, {l.batch, l.steps, columns}), {1, 0, 2});
    return r_.reshape(x, {l.steps, l.batch, columns});
  }

  ValueId recurrence(ValueId x, int64_t d, const std::string& activation) {
    const RecurrentLayer& l = layer_;
    if (l.directions > 1)
      x = slice(r_, x, {0, 0, d * l.columns()}, {1, 1, 1}, {l.steps, l.batch, l.columns()});
    const int64_t together = l.gates_together();
    auto weights = [&](int64_t first, int64_t count) {
      return weights_of(arrange_recurrent_weights(l, numbers(r_, in_r), d, first, count), in_r);
    };
    before_.push_back(state_before(d));
    std::vector<ValueId> inputs{x, before_.back(), weights(0, together)};
    if (l.resets_before) inputs.push_back(weights(together, 1));
    if (l.keeps_recurrent_bias())
      inputs.push_back(r_.add_constant(arrange_recurrent_bias(l, numbers(r_, in_bias), d)));
    const RecurrenceAttributes attributes{.reverse = runs_backwards(d),
                                          .relu = op_ == CoreOp::rnn && activation == "Relu",
                                          .linear_before_reset = op_ == CoreOp::gru && !l.resets_before,
                                          .masked = mask_ != no_value};
    if (mask_ != no_value) inputs.push_back(mask_);
    return r_.emit(op_, inputs, DType::f32, states_of(l.steps), attributes);
  }

  SymbolicShape states_of(const Dim& steps) const {
    return {steps, layer_.states, layer_.batch, layer_.units()};
  }

  /// Returns zeros, [states, batch, units].
  ValueId zeros(int64_t states) {
    const Dim& batch = layer_.batch;
    const int64_t rows = batch.is_number() ? batch.number() : 1;
    const ValueId constant = r_.add_constant(Tensor(DType::f32, {states, rows, layer_.units()}));
    if (batch.is_number()) return constant;
    return r_.emit(CoreOp::expand, {constant}, DType::f32, SymbolicShape{states, batch, layer_.units()});
  }

  /// Returns the initial state of one direction, [states, batch, units].
  ValueId state_before(int64_t d) {
    const bool has_c = layer_.states == 2;
    if (is_known(r_, in_h) && (!has_c || is_known(r_, in_c)) && !layer_.batch.is_number())
      return zeros(layer_.states);  // constants do not have an open batch: both are omitted
    if (is_known(r_, in_h) && (!has_c || is_known(r_, in_c)))
      return r_.add_constant(
          arrange_state(layer_, numbers(r_, in_h), has_c ? numbers(r_, in_c) : std::span<const float>(), d));
    const ValueId h = state_part(in_h, d);
    if (!has_c) return h;
    const SymbolicShape both{2, layer_.batch, layer_.units()};
    return r_.emit(CoreOp::concat, {h, state_part(in_c, d)}, DType::f32, both, AxisAttributes{0});
  }

  ValueId state_part(size_t input, int64_t d) {
    const RecurrentLayer& l = layer_;
    const SymbolicShape whole{1, l.batch, l.units()};
    if (!r_.has_input(input)) return zeros(1);
    ValueId part = l.batch_first ? r_.transpose(r_.in(input), {1, 0, 2}) : r_.in(input);
    if (l.directions > 1) part = slice(r_, part, {d, 0, 0}, {1, 1, 1}, {1, l.batch, l.hidden});
    if (l.units() == l.hidden) return part;
    const PadAttributes padding{.begin = {0, 0, 0}};
    return r_.emit(CoreOp::pad, {part, r_.add_scalar(0, DType::f32)}, DType::f32, whole, padding);
  }

  void set_outputs(const std::vector<ValueId>& states) {
    std::vector<ValueId> endings = states;
    if (has_output(r_.node(), 1) || has_output(r_.node(), 2))
      for (int64_t d = 0; d < layer_.directions; ++d)
        endings[static_cast<size_t>(d)] = with_initial_state(states[static_cast<size_t>(d)], d);
    for (size_t i = 0; i < r_.node().outputs.size(); ++i) {
      if (!has_output(r_.node(), i)) continue;
      std::vector<ValueId> parts;
      for (int64_t d = 0; d < layer_.directions; ++d) {
        const auto at = static_cast<size_t>(d);
        parts.push_back(i == 0 ? outputs_of_steps(states[at])
                               : last_state(endings[at], d, static_cast<int64_t>(i) - 1));
      }
      r_.set_output(i, i == 0 ? together(parts, 1, {2, 0, 1, 3}) : together(parts, 0, {1, 0, 2}));
    }
  }

  /// Returns h (state 0) or c (state 1) of `count` steps from `time` on, [count, 1, batch, hidden].
  ValueId part(ValueId states, const Dim& time, const Dim& count, int64_t state) {
    const SymbolicShape sizes{count, 1, layer_.batch, layer_.hidden};
    return r_.sizes(states) == sizes ? states : slice(r_, states, {time, state, 0, 0}, {1, 1, 1, 1}, sizes);
  }

  /// Returns h of all steps; zeros after the end of a sequence.
  ValueId outputs_of_steps(ValueId states) {
    const ValueId h = part(states, 0, layer_.steps, 0);
    if (mask_ == no_value) return h;
    const ValueId mask = r_.reshape(mask_, {layer_.steps, 1, layer_.batch, 1});
    return r_.emit(CoreOp::where, {mask, h, r_.add_scalar(0, DType::f32)}, DType::f32, r_.sizes(h));
  }

  /// Returns the states in which the last one is sought: the initial one is beside them where there may be no
  /// step.
  ValueId with_initial_state(ValueId states, int64_t d) {
    if (provably_nonnegative(layer_.steps - 1)) return states;
    const ValueId before = r_.reshape(before_[static_cast<size_t>(d)], states_of(1));
    return r_.emit(CoreOp::concat,
                   runs_backwards(d) ? std::vector{states, before} : std::vector{before, states}, DType::f32,
                   states_of(layer_.steps + 1), AxisAttributes{0});
  }

  /// Returns h (state 0) or c (state 1) after the last step.
  ValueId last_state(ValueId states, int64_t d, int64_t state) {
    const Dim last = r_.sizes(states)[0] - 1;
    return r_.reshape(part(states, runs_backwards(d) ? Dim(0) : last, 1, state),
                      {1, layer_.batch, layer_.hidden});
  }

  /// Concatenates all directions along `axis`, and transposes to `order` if the layer has the batch first.
  ValueId together(const std::vector<ValueId>& parts, int64_t axis, const std::vector<int64_t>& order) {
    ValueId all = parts[0];
    if (parts.size() > 1) {
      SymbolicShape sizes = r_.sizes(all);
      sizes[static_cast<size_t>(axis)] = layer_.directions;
      all = r_.emit(CoreOp::concat, parts, DType::f32, sizes, AxisAttributes{axis});
    }
    return layer_.batch_first ? r_.transpose(all, order) : all;
  }

  Rewriter& r_;
  const CoreOp op_;
  const RecurrentLayer layer_;
  ValueId mask_ = no_value;      // steps and rows that have a step; none if all have
  std::vector<ValueId> before_;  // initial states by direction
};

Status rewrite_layer(Rewriter& r, CoreOp op, int64_t gates, int64_t states,
                     const std::vector<std::string>& activations) {
  TRY(check_attributes(r, activations));
  const RecurrentLayer layer = TRY(read_layer(r, op, gates, states));
  TRY(check_inputs(r, layer));
  Recurrent(r, op, layer).rewrite(activations.back());
  return {};
}

Status lstm(Rewriter& r) { return rewrite_layer(r, CoreOp::lstm, 4, 2, {"Sigmoid", "Tanh", "Tanh"}); }
Status gru(Rewriter& r) { return rewrite_layer(r, CoreOp::gru, 3, 1, {"Sigmoid", "Tanh"}); }
Status rnn(Rewriter& r) {
  const std::vector<std::string> given = r.attributes().get_strings("activations");
  const bool relu = !given.empty() && equal_words(given[0], "Relu");
  return rewrite_layer(r, CoreOp::rnn, 1, 1, {relu ? "Relu" : "Tanh"});
}

constexpr std::array recurrent_rule_list = std::to_array<RuleEntry>({
    {"LSTM", lstm},
    {"GRU", gru},
    {"RNN", rnn},
});

}  // namespace

std::span<const RuleEntry> recurrent_rules() { return recurrent_rule_list; }

}  // namespace intarsia::halide
