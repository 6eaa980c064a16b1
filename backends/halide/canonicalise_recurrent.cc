// LSTM, GRU and RNN: one matrix product takes the input of all time steps and directions to the gates, then a recurrent
// core operator a direction (recurrence.h) runs over the steps. All weights are rearranged now.
#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>

#include "backends/halide/canonicalise_rules.h"
#include "backends/halide/recurrence.h"

namespace intarsia::halide {
namespace {

/// Inputs of the source operators.
enum SourceInput : size_t { in_x, in_w, in_r, in_bias, in_lengths, in_h, in_c, in_peepholes };

/// Units of a block lie side by side in memory, as many as the widest vectors have lanes.
constexpr int64_t most_lanes = 16;

/// Names of activations are not case-sensitive.
bool equal_words(const std::string& a, const std::string& b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

class Recurrent {
 public:
  Recurrent(Rewriter& r, int64_t gates, int64_t states) : r_(r), gates_(gates), states_(states) {}

  Status rewrite(const std::vector<std::string>& activations) {
    TRY(check_attributes(activations));
    TRY(read_sizes());
    TRY(check_lengths());
    const ValueId x = input_products();
    std::vector<ValueId> states;
    for (int64_t d = 0; d < directions_; ++d) states.push_back(recurrence(x, d, activations.back()));
    set_outputs(states);
    return {};
  }

 private:
  bool runs_backwards(int64_t d) const { return d == 1 || r_.attributes().get_string("direction", "forward") == "reverse"; }
  int64_t units() const { return blocks_ * lanes_; }

  /// A GRU whose reset gate acts on h itself: the gate is needed before the sums of the hidden gate begin.
  bool resets_before() const { return r_.node().op == "GRU" && r_.attributes().get_int("linear_before_reset", 0) == 0; }

  // ---- what is refused ----

  Status check_attributes(const std::vector<std::string>& wanted) const {
    const Attributes& attributes = r_.attributes();
    const std::string& op = r_.node().op;
    if (attributes.get_float("clip", 0) != 0) return fail("{} with clip is not supported", op);
    if (attributes.get_int("input_forget", 0) != 0) return fail("{} with input_forget is not supported", op);
    if (r_.has_input(in_peepholes)) return fail("{} with peepholes is not supported", op);
    const std::vector<std::string> given = attributes.get_strings("activations");
    if (given.size() % wanted.size() != 0) return fail("{} with {} activations", op, given.size());
    for (size_t i = 0; i < given.size(); ++i)
      if (!equal_words(given[i], wanted[i % wanted.size()]))
        return fail("{} with activation {} in place of {} is not supported", op, given[i], wanted[i % wanted.size()]);
    return {};
  }

  Status read_sizes() {
    const std::string& op = r_.node().op;
    for (size_t i : {in_x, in_w, in_r})
      if (r_.rank(r_.in(i)) != 3 || r_.dtype(r_.in(i)) != DType::f32) return fail("{} wants f32 of rank 3 as input {}", op, i);
    const std::string direction = r_.attributes().get_string("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      return fail("{} with direction '{}'", op, direction);
    const Shape x = r_.shape(r_.in(in_x));
    batch_first_ = r_.attributes().get_int("layout", 0) != 0;
    steps_ = x[batch_first_ ? 1 : 0], batch_ = x[batch_first_ ? 0 : 1], depth_ = x[2];
    hidden_ = r_.shape(r_.in(in_r))[2];
    if (hidden_ < 1 || r_.attributes().get_int("hidden_size", hidden_) != hidden_)
      return fail("{} with hidden_size {} and weights for {}", op, r_.attributes().get_int("hidden_size", hidden_), hidden_);
    directions_ = direction == "bidirectional" ? 2 : 1;
    lanes_ = 1;
    while (lanes_ < std::min(hidden_, most_lanes)) lanes_ *= 2;
    blocks_ = (hidden_ + lanes_ - 1) / lanes_;
    const Shape state = batch_first_ ? Shape{batch_, directions_, hidden_} : Shape{directions_, batch_, hidden_};
    TRY(check_input(in_w, {directions_, gates_ * hidden_, depth_}, true));
    TRY(check_input(in_r, {directions_, gates_ * hidden_, hidden_}, true));
    TRY(check_input(in_bias, {directions_, 2 * gates_ * hidden_}, true));
    TRY(check_input(in_h, state, false));
    if (states_ == 2) TRY(check_input(in_c, state, false));
    const int64_t elements = TRY(checked_elements({steps_, batch_, directions_, gates_, units()}));
    if (elements > most_elements) return fail("{} whose gates take {} elements is not supported", op, elements);
    return {};
  }

  Status check_input(size_t i, const Shape& want, bool constant) const {
    if (!r_.has_input(i)) return {};
    const std::string& op = r_.node().op;
    const Shape got = r_.shape(r_.in(i));
    if (got != want || r_.dtype(r_.in(i)) != DType::f32)
      return fail("{} has {}[{}] as input {}, want f32[{}]", op, dtype_name(r_.dtype(r_.in(i))), print_shape(got), i, print_shape(want));
    if (constant && !r_.constant(r_.in(i))) return fail("{} whose input {} is not known at compile time is not supported", op, i);
    return {};
  }

  Status check_lengths() const {
    for (int64_t length : TRY(r_.ints("", in_lengths, {})))
      if (length != steps_) return fail("{} of sequences shorter than the {} steps is not supported", r_.node().op, steps_);
    return {};
  }

  // ---- constants ----

  /// The place of a source gate in x: the reset gate behind all others where it is computed before them.
  int64_t place_of(int64_t gate) const {
    constexpr std::array<int64_t, 3> reset_last = {0, 2, 1};
    return resets_before() ? reset_last[static_cast<size_t>(gate)] : gate;
  }

  /// Where unit `j` of a gate of direction `d` lies in a row of x.
  size_t column(int64_t d, int64_t gate, int64_t j) const {
    return static_cast<size_t>((((d * blocks_ + j / lanes_) * gates_) + place_of(gate)) * lanes_ + j % lanes_);
  }

  /// Calls f(d, gate, j, row) for every unit of every gate, whose row in the source's weights is `row`.
  template <typename F>
  void for_each_unit(F f) const {
    for (int64_t d = 0; d < directions_; ++d)
      for (int64_t gate = 0; gate < gates_; ++gate)
        for (int64_t j = 0; j < hidden_; ++j) f(d, gate, j, static_cast<size_t>((d * gates_ + gate) * hidden_ + j));
  }

  std::span<const float> numbers(size_t input) const { return r_.constant(r_.in(input))->as<float>(); }

  /// W as [depth, columns of x].
  ValueId input_weights() {
    const int64_t columns = directions_ * gates_ * units();
    Tensor weights(DType::f32, {depth_, columns});
    const auto from = numbers(in_w);
    const auto to = weights.as<float>();
    const auto depth = static_cast<size_t>(depth_), width = static_cast<size_t>(columns);
    for_each_unit([&](int64_t d, int64_t gate, int64_t j, size_t row) {
      for (size_t k = 0; k < depth; ++k) to[k * width + column(d, gate, j)] = from[row * depth + k];
    });
    return r_.add_constant(std::move(weights));
  }

  /// The hidden gate of a GRU that resets behind the sums: what R adds, its bias included, is multiplied.
  bool keeps_recurrent_bias(int64_t gate) const { return gates_ == 3 && gate == 2 && !resets_before(); }

  ValueId input_bias() {
    Tensor bias(DType::f32, {directions_ * gates_ * units()});
    const auto from = numbers(in_bias);
    const auto to = bias.as<float>();
    for_each_unit([&](int64_t d, int64_t gate, int64_t j, size_t row) {
      const size_t at = row + static_cast<size_t>(d * gates_ * hidden_);
      to[column(d, gate, j)] = from[at] + (keeps_recurrent_bias(gate) ? 0 : from[at + static_cast<size_t>(gates_ * hidden_)]);
    });
    return r_.add_constant(std::move(bias));
  }

  ValueId recurrent_bias(int64_t direction) {
    Tensor bias(DType::f32, {units()});
    if (r_.has_input(in_bias))
      for (int64_t j = 0; j < hidden_; ++j)
        bias.as<float>()[static_cast<size_t>(j)] = numbers(in_bias)[static_cast<size_t>(((direction * 2 + 1) * gates_ + 2) * hidden_ + j)];
    return r_.add_constant(std::move(bias));
  }

  /// R of the gates at `count` places of x from `first` on, as [blocks, hidden, count, lanes].
  ValueId recurrent_matrix(int64_t direction, int64_t first, int64_t count) {
    Tensor weights(DType::f32, {blocks_, hidden_, count, lanes_});
    const auto from = numbers(in_r);
    const auto to = weights.as<float>();
    for_each_unit([&](int64_t d, int64_t gate, int64_t j, size_t row) {
      const int64_t place = place_of(gate) - first;
      if (d != direction || place < 0 || place >= count) return;
      for (int64_t k = 0; k < hidden_; ++k)
        to[static_cast<size_t>(((j / lanes_ * hidden_ + k) * count + place) * lanes_ + j % lanes_)] =
            from[row * static_cast<size_t>(hidden_) + static_cast<size_t>(k)];
    });
    return r_.add_constant(std::move(weights));
  }

  // ---- the core operators ----

  /// [steps, batch, columns of all directions]
  ValueId input_products() {
    const int64_t columns = directions_ * gates_ * units();
    const ValueId rows = r_.reshape(r_.in(in_x), {steps_ * batch_, depth_});
    ValueId x = r_.emit("MatMul", {rows, input_weights()}, DType::f32, {steps_ * batch_, columns});
    if (r_.has_input(in_bias)) x = r_.emit_elementwise("Add", {x, input_bias()});
    if (batch_first_) return r_.transpose(r_.reshape(x, {batch_, steps_, columns}), {1, 0, 2});
    return r_.reshape(x, {steps_, batch_, columns});
  }

  ValueId recurrence(ValueId x, int64_t d, const std::string& activation) {
    const int64_t columns = gates_ * units();
    if (directions_ > 1) x = slice(r_, x, {0, 0, d * columns}, {1, 1, 1}, {steps_, batch_, columns});
    const int64_t together = resets_before() ? 2 : gates_;
    std::vector<ValueId> inputs{x, state_before(d), recurrent_matrix(d, 0, together)};
    if (resets_before()) inputs.push_back(recurrent_matrix(d, together, 1));
    if (keeps_recurrent_bias(2)) inputs.push_back(recurrent_bias(d));
    Attributes attributes = make_attributes({{"reverse", int64_t{runs_backwards(d)}}});
    if (r_.node().op == "RNN") attributes.set("activation", activation);
    if (r_.node().op == "GRU") attributes.set("linear_before_reset", int64_t{!resets_before()});
    return r_.emit(r_.node().op, inputs, DType::f32, {steps_, states_, batch_, units()}, attributes);
  }

  /// [states, batch, units] of one direction.
  ValueId state_before(int64_t d) {
    bool known = true;
    for (size_t i = in_h; i < in_h + static_cast<size_t>(states_); ++i) known = known && (!r_.has_input(i) || r_.constant(r_.in(i)));
    if (known) return known_state(d);
    const ValueId h = state_part(in_h, d);
    return states_ == 1 ? h : r_.emit("Concat", {h, state_part(in_c, d)}, DType::f32, {2, batch_, units()}, make_attributes({{"axis", int64_t{0}}}));
  }

  ValueId known_state(int64_t d) {
    Tensor state(DType::f32, {states_, batch_, units()});
    for (int64_t s = 0; s < states_; ++s) {
      const size_t input = in_h + static_cast<size_t>(s);
      if (!r_.has_input(input)) continue;
      for (int64_t n = 0; n < batch_; ++n) {
        const int64_t row = batch_first_ ? n * directions_ + d : d * batch_ + n;
        std::ranges::copy(numbers(input).subspan(static_cast<size_t>(row * hidden_), static_cast<size_t>(hidden_)),
                          state.as<float>().begin() + (s * batch_ + n) * units());
      }
    }
    return r_.add_constant(std::move(state));
  }

  ValueId state_part(size_t input, int64_t d) {
    const Shape whole{1, batch_, units()};
    if (!r_.has_input(input)) return r_.add_constant(Tensor(DType::f32, whole));
    ValueId part = batch_first_ ? r_.transpose(r_.in(input), {1, 0, 2}) : r_.in(input);
    if (directions_ > 1) part = slice(r_, part, {d, 0, 0}, {1, 1, 1}, {1, batch_, hidden_});
    if (units() == hidden_) return part;
    const Attributes padding = make_attributes({{"begin", std::vector<int64_t>(3, 0)}, {"mode", std::string("constant")}});
    return r_.emit("Pad", {part, r_.add_scalar(0, DType::f32)}, DType::f32, whole, padding);
  }

  void set_outputs(const std::vector<ValueId>& states) {
    for (size_t i = 0; i < r_.node().outputs.size(); ++i) {
      if (!has_output(r_.node(), i)) continue;
      std::vector<ValueId> parts;
      for (int64_t d = 0; d < directions_; ++d)
        parts.push_back(i == 0 ? sequence(states[static_cast<size_t>(d)]) : last_state(states[static_cast<size_t>(d)], d, static_cast<int64_t>(i) - 1));
      r_.set_output(i, i == 0 ? whole_sequence(parts) : whole_state(parts));
    }
  }

  ValueId part(ValueId states, int64_t time, int64_t state, int64_t count) {
    const Shape shape{count, 1, batch_, hidden_};
    return r_.shape(states) == shape ? states : slice(r_, states, {time, state, 0, 0}, {1, 1, 1, 1}, shape);
  }

  ValueId sequence(ValueId states) { return part(states, 0, 0, steps_); }

  ValueId last_state(ValueId states, int64_t d, int64_t state) {
    return r_.reshape(part(states, runs_backwards(d) ? 0 : steps_ - 1, state, 1), {1, batch_, hidden_});
  }

  ValueId together(const std::vector<ValueId>& parts, int64_t axis) {
    if (parts.size() == 1) return parts[0];
    Shape shape = r_.shape(parts[0]);
    shape[static_cast<size_t>(axis)] = directions_;
    return r_.emit("Concat", parts, DType::f32, shape, make_attributes({{"axis", axis}}));
  }

  ValueId whole_sequence(const std::vector<ValueId>& parts) {
    const ValueId y = together(parts, 1);
    return batch_first_ ? r_.transpose(y, {2, 0, 1, 3}) : y;
  }

  ValueId whole_state(const std::vector<ValueId>& parts) {
    const ValueId y = together(parts, 0);
    return batch_first_ ? r_.transpose(y, {1, 0, 2}) : y;
  }

  Rewriter& r_;
  int64_t gates_, states_;
  int64_t steps_ = 0, batch_ = 0, depth_ = 0, hidden_ = 0, directions_ = 1, lanes_ = 1, blocks_ = 1;
  bool batch_first_ = false;
};

Status lstm(Rewriter& r) { return Recurrent(r, 4, 2).rewrite({"Sigmoid", "Tanh", "Tanh"}); }
Status gru(Rewriter& r) { return Recurrent(r, 3, 1).rewrite({"Sigmoid", "Tanh"}); }
Status rnn(Rewriter& r) {
  const std::vector<std::string> given = r.attributes().get_strings("activations");
  const bool relu = !given.empty() && equal_words(given[0], "Relu");
  return Recurrent(r, 1, 1).rewrite({relu ? "Relu" : "Tanh"});
}

constexpr std::array rules = std::to_array<RuleEntry>({
    {"LSTM", lstm},
    {"GRU", gru},
    {"RNN", rnn},
});

}  // namespace

std::span<const RuleEntry> recurrent_rules() { return rules; }

}  // namespace intarsia::halide
