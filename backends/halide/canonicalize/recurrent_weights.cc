#include "backends/halide/canonicalize/recurrent_weights.h"

#include <algorithm>
#include <array>

namespace intarsia::halide {
namespace {

/// Returns the place of a source gate in x.
int64_t place_of(const RecurrentLayer& layer, int64_t gate) {
  constexpr std::array<int64_t, 3> reset_last = {0, 2, 1};
  return layer.resets_before ? reset_last[static_cast<size_t>(gate)] : gate;
}

/// Returns the column of x in which unit `j` of a gate lies.
size_t column(const RecurrentLayer& layer, int64_t direction, int64_t gate, int64_t j) {
  const int64_t block = direction * layer.blocks + j / layer.lanes;
  return static_cast<size_t>((block * layer.gates + place_of(layer, gate)) * layer.lanes + j % layer.lanes);
}

/// Calls f(direction, gate, j, row) for every unit of every gate, whose row in W and R is `row`.
template <typename F>
void for_each_unit(const RecurrentLayer& layer, F f) {
  for (int64_t d = 0; d < layer.directions; ++d)
    for (int64_t gate = 0; gate < layer.gates; ++gate)
      for (int64_t j = 0; j < layer.hidden; ++j)
        f(d, gate, j, static_cast<size_t>((d * layer.gates + gate) * layer.hidden + j));
}

}  // namespace

Tensor arrange_input_weights(const RecurrentLayer& layer, std::span<const float> w) {
  Tensor weights(DType::f32, {layer.depth, layer.directions * layer.columns()});
  const auto to = weights.as<float>();
  const auto depth = static_cast<size_t>(layer.depth), width = static_cast<size_t>(weights.shape()[1]);
  for_each_unit(layer, [&](int64_t d, int64_t gate, int64_t j, size_t row) {
    for (size_t k = 0; k < depth; ++k) to[k * width + column(layer, d, gate, j)] = w[row * depth + k];
  });
  return weights;
}

Tensor arrange_input_bias(const RecurrentLayer& layer, std::span<const float> b) {
  Tensor bias(DType::f32, {layer.directions * layer.columns()});
  const auto rows = static_cast<size_t>(layer.gates * layer.hidden);
  for_each_unit(layer, [&](int64_t d, int64_t gate, int64_t j, size_t row) {
    const size_t at = row + static_cast<size_t>(d) * rows;  // W's bias; R's follows that of all rows
    const bool both = !layer.keeps_recurrent_bias() || gate != 2;
    bias.as<float>()[column(layer, d, gate, j)] = b[at] + (both ? b[at + rows] : 0);
  });
  return bias;
}

Tensor arrange_recurrent_bias(const RecurrentLayer& layer, std::span<const float> b, int64_t direction) {
  Tensor bias(DType::f32, {layer.units()});
  if (b.empty()) return bias;
  const auto hidden = static_cast<size_t>(layer.hidden);
  const auto gate = static_cast<size_t>((direction * 2 + 1) * layer.gates + 2);
  std::ranges::copy(b.subspan(gate * hidden, hidden), bias.as<float>().begin());
  return bias;
}

Tensor arrange_recurrent_weights(const RecurrentLayer& layer, std::span<const float> r, int64_t direction,
                                 int64_t first, int64_t count) {
  Tensor weights(DType::f32, {layer.blocks, layer.hidden, count, layer.lanes});
  const auto to = weights.as<float>();
  for_each_unit(layer, [&](int64_t d, int64_t gate, int64_t j, size_t row) {
    const int64_t place = place_of(layer, gate) - first;
    if (d != direction || place < 0 || place >= count) return;
    for (int64_t k = 0; k < layer.hidden; ++k) {
      const int64_t at =
          ((j / layer.lanes * layer.hidden + k) * count + place) * layer.lanes + j % layer.lanes;
      to[static_cast<size_t>(at)] = r[row * static_cast<size_t>(layer.hidden) + static_cast<size_t>(k)];
    }
  });
  return weights;
}

Tensor arrange_state(const RecurrentLayer& layer, std::span<const float> h, std::span<const float> c,
                     int64_t direction) {
  const int64_t batch = layer.batch.number();
  Tensor state(DType::f32, {layer.states, batch, layer.units()});
  for (int64_t s = 0; s < layer.states; ++s) {
    const std::span<const float> from = s == 0 ? h : c;
    if (from.empty()) continue;
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t row = layer.batch_first ? n * layer.directions + direction : direction * batch + n;
      std::ranges::copy(
          from.subspan(static_cast<size_t>(row * layer.hidden), static_cast<size_t>(layer.hidden)),
          state.as<float>().begin() + (s * batch + n) * layer.units());
    }
  }
  return state;
}

}  // namespace intarsia::halide
