// Recurrent layers of Keras, which the importer recognizes (import/recognize_recurrence.h).
#include <algorithm>

#include "translate/rules.h"

namespace intarsia {
namespace {

/// Positions of the node's inputs: x, h, c of an LSTM, kernel, recurrent kernel, the bias if any, bounds of
/// the steps.
struct Inputs {
  size_t kernel, bounds, bounds_end;
  bool has_bias;
};

Result<Inputs> find_inputs(const Translation& t, size_t states) {
  Inputs inputs{1 + states, 0, 0, t.attributes().get_int("has_bias", 0) != 0};
  inputs.bounds = inputs.kernel + 2 + inputs.has_bias;
  inputs.bounds_end =
      inputs.bounds + static_cast<size_t>(std::clamp<int64_t>(t.attributes().get_int("bounds", 0), 0, 16));
  if (inputs.bounds_end > t.input_count() || inputs.bounds == inputs.bounds_end)
    return fail("a recurrent loop without its inputs");
  return inputs;
}

/// Checks that the loop runs over all of its input: a partial one has no translation.
Status check_steps(const Translation& t, const Inputs& inputs) {
  const SymbolicShape x = TRY(t.sizes(0));
  if (x.size() != 3 || x[0] == 0) return fail("over a sequence of shape {}", print_shape(x));
  std::optional<Dim> steps;
  for (size_t i = inputs.bounds; i < inputs.bounds_end; ++i) {
    const std::vector<Dim> bound = TRY(t.elements(i));
    if (bound.size() != 1) return fail("over {} numbers of steps", bound.size());
    steps = steps ? smaller_of(*steps, bound[0]) : bound[0];
  }
  return provably_equal(*steps, x[0]) ? Status() : fail("over {} of {} steps", steps->print(), x[0].print());
}

/// Reorders a kernel: [in, gates * units], gates in TensorFlow's order -> [1, gates * units, in], gates in
/// `order`.
ValueId gate_rows(Translation& t, ValueId kernel, int64_t units, const std::vector<int64_t>& order) {
  const std::vector<ValueId> gates =
      t.make_several("Split", {kernel, t.make_integers(std::vector<int64_t>(order.size(), units))},
                     order.size(), {{"axis", int64_t{1}}});
  std::vector<ValueId> sorted;
  for (int64_t gate : order) sorted.push_back(gates[static_cast<size_t>(gate)]);
  const ValueId joined = t.make("Concat", sorted, {{"axis", int64_t{1}}});
  return t.make("Unsqueeze", {t.transpose(joined, {1, 0}), t.make_integers({0})});
}

/// Reorders a bias: [gates * units] -> [1, gates * units], gates in `order`.
ValueId gate_bias(Translation& t, ValueId bias, int64_t units, const std::vector<int64_t>& order) {
  const ValueId column = t.reshape(bias, {1, units * static_cast<int64_t>(order.size())});
  const std::vector<ValueId> gates =
      t.make_several("Split", {column, t.make_integers(std::vector<int64_t>(order.size(), units))},
                     order.size(), {{"axis", int64_t{1}}});
  std::vector<ValueId> sorted;
  for (int64_t gate : order) sorted.push_back(gates[static_cast<size_t>(gate)]);
  return t.make("Concat", sorted, {{"axis", int64_t{1}}});
}

/// Gives the results of the ONNX layer with one direction: all h [steps, 1, batch, units], last h and c [1,
/// batch, units].
void give_results(Translation& t, const std::vector<ValueId>& results) {
  const bool last_only = t.attributes().get_int("last_only", 0) != 0;
  if (t.wants_output(0))
    t.give(0, last_only ? results[1] : t.make("Squeeze", {results[0], t.make_integers({1})}));
  for (size_t i = 1; i < results.size(); ++i) {
    if (t.wants_output(i)) t.give(i, t.make("Squeeze", {results[i], t.make_integers({0})}));
  }
}

/// Translates an LSTM. Gates are i, f, g, o in TensorFlow and i, o, f, g in ONNX.
Status lstm(Translation& t) {
  const Inputs inputs = TRY(find_inputs(t, 2));
  TRY(check_steps(t, inputs));
  const Shape recurrent = TRY(t.shape(inputs.kernel + 1));
  if (recurrent.size() != 2 || recurrent[1] != 4 * recurrent[0])
    return fail("with a recurrent kernel of shape {}", print_shape(recurrent));
  const int64_t units = recurrent[0];
  const std::vector<int64_t> order{0, 3, 1, 2};
  const ValueId zeros = t.make_constant(Tensor(DType::f32, {1, 4 * units}));
  const ValueId bias = inputs.has_bias ? gate_bias(t, t.input(inputs.kernel + 2), units, order) : zeros;
  const ValueId first = t.make_integers({0});
  const ValueId h = t.make("Unsqueeze", {t.input(1), first}), c = t.make("Unsqueeze", {t.input(2), first});
  give_results(t, t.make_several("LSTM",
                                 {t.input(0), gate_rows(t, t.input(inputs.kernel), units, order),
                                  gate_rows(t, t.input(inputs.kernel + 1), units, order),
                                  t.make("Concat", {bias, zeros}, {{"axis", int64_t{1}}}), no_value, h, c},
                                 3, {{"hidden_size", units}}));
  return {};
}

/// Translates a GRU. Gates are z, r, h in both. With `reset_after` the bias has a second row, for the
/// recurrent product.
Status gru(Translation& t) {
  const Inputs inputs = TRY(find_inputs(t, 1));
  TRY(check_steps(t, inputs));
  const Shape recurrent = TRY(t.shape(inputs.kernel + 1));
  if (recurrent.size() != 2 || recurrent[1] != 3 * recurrent[0] || !inputs.has_bias)
    return fail("with a recurrent kernel of shape {}", print_shape(recurrent));
  const int64_t units = recurrent[0];
  const std::vector<int64_t> order{0, 1, 2};
  const ValueId h = t.make("Unsqueeze", {t.input(1), t.make_integers({0})});
  const bool reset_after = t.attributes().get_int("reset_after", 0) != 0;
  ValueId bias = t.reshape(t.input(inputs.kernel + 2), {1, (reset_after ? 6 : 3) * units});
  if (!reset_after)
    bias =
        t.make("Concat", {bias, t.make_constant(Tensor(DType::f32, {1, 3 * units}))}, {{"axis", int64_t{1}}});
  give_results(t, t.make_several("GRU",
                                 {t.input(0), gate_rows(t, t.input(inputs.kernel), units, order),
                                  gate_rows(t, t.input(inputs.kernel + 1), units, order), bias, no_value, h},
                                 2, {{"hidden_size", units}, {"linear_before_reset", int64_t{reset_after}}}));
  return {};
}

constexpr TranslationRow recurrent_rows[] = {{"LSTM", lstm}, {"GRU", gru}};

}  // namespace

std::span<const TranslationRow> recurrent_translations() { return recurrent_rows; }

}  // namespace intarsia
