#include "backends/halide/schedule/recurrence.h"

#include <algorithm>
#include <utility>

namespace intarsia::halide {
namespace {

/// Estimates the cycles of one step: two multiply-adds per cycle, at least 8 chains to hide their latency;
/// weights stream from the L2 cache, a vector per cycle; the functions of a tile's gates wait for all of its
/// sums.
double cost(const RecurrenceSizes& s, const ContractionTile& tile) {
  constexpr double functions = 60;
  const auto rows = static_cast<double>(tile.pixels),
             vectors = static_cast<double>(s.gates_together * tile.panel / tile.lanes);
  const double sum = std::max(std::max(rows * vectors, 8.0) / 2, vectors + rows / 2);
  const int64_t units = s.blocks * s.lanes;
  const auto tiles = static_cast<double>((units + tile.panel - 1) / tile.panel *
                                         ((s.batch + tile.pixels - 1) / tile.pixels));
  return tiles * (static_cast<double>(s.hidden) * sum + functions);
}

/// Checks whether the accumulators fit, as the compiler spills otherwise; with several rows it also holds a
/// vector of weights and a unit of each row.
bool fits_registers(const Isa& isa, int64_t vectors, int64_t rows) {
  return rows * vectors + (rows > 1 ? rows + 1 : 2) <= isa.registers;
}

/// Returns the widths of panels: parts of a block, then whole blocks.
std::vector<int64_t> panel_widths(const RecurrenceSizes& s, int64_t lanes) {
  constexpr int64_t max_blocks = 8;
  std::vector<int64_t> widths;
  for (int64_t width = lanes; width < s.lanes; width *= 2) widths.push_back(width);
  for (int64_t blocks = 1; blocks <= std::min(s.blocks, max_blocks); ++blocks)
    widths.push_back(blocks * s.lanes);
  return widths;
}

/// Returns an argument of one step, without a time axis.
Argument step_argument(const Layouts& layouts, ValueId value, bool over_time) {
  Argument argument{layouts.graph.value(value).type.dtype, sizes_of(layouts.graph, value),
                    layouts.storage[index(value)].strides};
  if (over_time)
    argument.shape.erase(argument.shape.begin()), argument.strides.erase(argument.strides.begin());
  return argument;
}

Kernel make_step(const Node& node, const std::vector<Argument>& inputs, const Argument& output, int threads) {
  Kernel kernel;
  kernel.form = Form::recurrence;
  kernel.details = RecurrenceDetails{};
  kernel.threads = threads;
  kernel.inputs = inputs;
  kernel.output = output;
  RecurrenceAttributes attributes = attributes_of<RecurrenceAttributes>(node);
  attributes.reverse = false;  // the walks have the direction
  Node step = make_node("n0", op_of(node), {}, {}, attributes);
  for (const Argument& input : inputs) {
    step.inputs.push_back(
        kernel.body.add_value(fmt::format("v{}", step.inputs.size()), {input.dtype, input.shape}));
    kernel.body.inputs.push_back(step.inputs.back());
  }
  step.outputs = {kernel.body.add_value("t0", {output.dtype, output.shape})};
  kernel.body.outputs = step.outputs;
  kernel.anchor = kernel.body.add_node(std::move(step));
  return kernel;
}

}  // namespace

RecurrenceSizes recurrence_sizes(const Graph& body, const Node& step) {
  const Shape x = shape_of(body, step.inputs[recurrent_x]),
              before = shape_of(body, step.inputs[recurrent_before]),
              weights = shape_of(body, step.inputs[recurrent_weights]);
  return {.batch = before[1],
          .states = before[0],
          .hidden = weights[1],
          .blocks = weights[0],
          .lanes = weights[3],
          .gates = x[1] / before[2],
          .gates_together = weights[2]};
}

std::vector<ContractionTile> recurrence_tiles(const Graph& body, const Node& step, const Isa& isa,
                                              size_t most) {
  const RecurrenceSizes s = recurrence_sizes(body, step);
  const int64_t lanes = std::min<int64_t>(s.lanes, isa.lanes(sizeof(float)));
  std::vector<std::pair<double, ContractionTile>> ranked;
  for (int64_t panel : panel_widths(s, lanes)) {
    const int64_t vectors = s.gates_together * panel / lanes;
    std::pair<double, ContractionTile> best{-1, {}};
    for (int64_t rows = 1; rows <= s.batch; ++rows) {
      const bool narrowest = panel == lanes && rows == 1;
      if (!narrowest && !fits_registers(isa, vectors, rows)) break;
      const ContractionTile tile{lanes, panel, rows};
      const double time = cost(s, tile);
      if (best.first < 0 || time < best.first) best = {time, tile};
    }
    if (best.first >= 0) ranked.push_back(best);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  std::vector<ContractionTile> tiles;
  for (size_t i = 0; i < std::min(ranked.size(), most); ++i) tiles.push_back(ranked[i].second);
  return tiles;
}

std::vector<Call> make_recurrence(const Layouts& layouts, const Node& node, int threads) {
  const ValueId x = node.inputs[recurrent_x], states = node.outputs[0];
  const Dim steps = sizes_of(layouts.graph, states)[0];
  const bool reverse = attributes_of<RecurrenceAttributes>(node).reverse;
  const Dim first = reverse ? steps - 1 : 0, next = reverse ? -1 : 1;
  const Dim x_stride = layouts.storage[index(x)].strides[0],
            state_stride = layouts.storage[index(states)].strides[0];

  auto call_from = [&](ValueId before, Walk before_walk, Dim start, Dim times) {
    Call call;
    call.source = node.name;
    call.inputs = node.inputs;
    call.inputs[recurrent_before] = before;
    call.output = states;
    call.times = times;
    call.walks.resize(call.inputs.size() + 1);
    call.walks[recurrent_x] = {start * x_stride, next * x_stride};
    call.walks[recurrent_before] = before_walk;
    call.walks.back() = {start * state_stride, next * state_stride};
    std::vector<Argument> arguments;
    for (size_t i = 0; i < call.inputs.size(); ++i)
      arguments.push_back(
          step_argument(layouts, call.inputs[i], i == recurrent_x || call.inputs[i] == states));
    call.kernel = make_step(node, arguments, step_argument(layouts, states, true), threads);
    return call;
  };
  std::vector<Call> calls{call_from(node.inputs[recurrent_before], {}, first, 1)};
  if (steps != 1)
    calls.push_back(call_from(states, {first * state_stride, next * state_stride}, first + next, steps - 1));
  return calls;
}

}  // namespace intarsia::halide
