#include "backends/halide/schedule/recurrence.h"

#include <algorithm>
#include <utility>

namespace intarsia::halide {
namespace {

/// Estimates the cycles of one step: two multiply-adds per cycle, at least 8 chains to hide their latency;
/// weights stream from the L2 cache, a vector per cycle; the functions of a tile's gates wait for all of its
/// sums.
double cost(const RecurrenceSizes& s, int64_t batch, const ContractionTile& tile) {
  constexpr double functions = 60;
  const auto rows = static_cast<double>(tile.pixels),
             vectors = static_cast<double>(s.gates_together * tile.panel / tile.lanes);
  const double sum = std::max(std::max(rows * vectors, 8.0) / 2, vectors + rows / 2);
  const int64_t units = s.blocks * s.lanes;
  const auto tiles =
      static_cast<double>((units + tile.panel - 1) / tile.panel * ((batch + tile.pixels - 1) / tile.pixels));
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

/// Returns the vectors of the accumulators of a row.
int64_t row_vectors(const RecurrenceSizes& s, int64_t panel, int64_t lanes) {
  return s.gates_together * panel / lanes;
}

int64_t lanes_of(const RecurrenceSizes& s, const Isa& isa) {
  return std::min<int64_t>(s.lanes, isa.lanes(sizeof(float)));
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
  const SymbolicShape &x = sizes_of(body, step.inputs[recurrent_x]),
                      &before = sizes_of(body, step.inputs[recurrent_before]);
  const Shape weights = shape_of(body, step.inputs[recurrent_weights]);
  return {.batch = before[1],
          .states = before[0].number(),
          .hidden = weights[1],
          .blocks = weights[0],
          .lanes = weights[3],
          .gates = x[1].number() / before[2].number(),
          .gates_together = weights[2]};
}

std::vector<ContractionTile> recurrence_tiles(const Graph& body, const Node& step, const Isa& isa,
                                              size_t most) {
  const RecurrenceSizes s = recurrence_sizes(body, step);
  const int64_t lanes = lanes_of(s, isa), batch = s.batch.number();
  std::vector<std::pair<double, ContractionTile>> ranked;
  for (int64_t panel : panel_widths(s, lanes)) {
    std::pair<double, ContractionTile> best{-1, {}};
    for (int64_t rows = 1; rows <= batch; ++rows) {
      const bool narrowest = panel == lanes && rows == 1;
      if (!narrowest && !fits_registers(isa, row_vectors(s, panel, lanes), rows)) break;
      const ContractionTile tile{lanes, panel, rows};
      const double time = cost(s, batch, tile);
      if (best.first < 0 || time < best.first) best = {time, tile};
    }
    if (best.first >= 0) ranked.push_back(best);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  std::vector<ContractionTile> tiles;
  for (size_t i = 0; i < std::min(ranked.size(), most); ++i) tiles.push_back(ranked[i].second);
  return tiles;
}

std::vector<RowsTile> tiles_by_rows(const RecurrenceSizes& sizes, const Isa& isa,
                                    const ContractionTile& chosen) {
  constexpr int64_t most = 8;  // each is code of its own
  const int64_t lanes = lanes_of(sizes, isa);
  std::vector<RowsTile> tiles;
  for (int64_t rows = 1; rows <= std::max(most, chosen.pixels); ++rows) {
    std::optional<RowsTile> best;
    for (int64_t panel : panel_widths(sizes, lanes)) {
      const bool narrowest = panel == lanes && rows <= chosen.pixels;
      if (!narrowest && !fits_registers(isa, row_vectors(sizes, panel, lanes), rows)) break;
      const ContractionTile tile{lanes, panel, rows};
      const double cycles = cost(sizes, rows, tile);
      if (!best || cycles < best->cycles) best = {tile, cycles};
    }
    if (!best) break;
    if (rows == chosen.pixels) best = {chosen, cost(sizes, rows, chosen)};
    tiles.push_back(*best);
  }
  return tiles;
}

std::vector<Call> make_recurrence(const Layouts& layouts, const Node& node, int threads) {
  const ValueId x = node.inputs[recurrent_x], states = node.outputs[0];
  const Dim steps = sizes_of(layouts.graph, states)[0];
  const auto [reverse, relu, linear_before_reset, masked] = attributes_of<RecurrenceAttributes>(node);
  const Dim first = reverse ? steps - 1 : 0, next = reverse ? -1 : 1;
  const Dim x_stride = layouts.storage[index(x)].strides[0],
            state_stride = layouts.storage[index(states)].strides[0];

  const auto moves = [&](const Call& call, size_t i) {
    return i == recurrent_x || call.inputs[i] == states || (masked && i + 1 == call.inputs.size());
  };

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
    if (masked) {
      const Dim mask_stride = layouts.storage[index(call.inputs.back())].strides[0];
      call.walks[call.inputs.size() - 1] = {start * mask_stride, next * mask_stride};
    }
    std::vector<Argument> arguments;
    for (size_t i = 0; i < call.inputs.size(); ++i)
      arguments.push_back(step_argument(layouts, call.inputs[i], moves(call, i)));
    call.kernel = make_step(node, arguments, step_argument(layouts, states, true), threads);
    return call;
  };
  std::vector<Call> calls{call_from(node.inputs[recurrent_before], {}, first, smaller_of(steps, 1))};
  const Dim others = larger_of(steps - 1, 0);
  if (others != 0)
    calls.push_back(call_from(states, {first * state_stride, next * state_stride}, first + next, others));
  return calls;
}

}  // namespace intarsia::halide
