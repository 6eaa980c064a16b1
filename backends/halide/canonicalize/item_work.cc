#include "backends/halide/canonicalize/item_work.h"

#include <algorithm>
#include <array>

#include "graph/count_operations.h"

namespace intarsia::halide {
namespace {

constexpr double least_operations = 2e6;         // of an item, about 20 us
constexpr double least_operations_per_byte = 4;  // products of 8 rows or more

struct Work {
  double operations = 0;
  double weights_bytes = 0;  // bytes read of them, each time that they are
};

double bytes_of(const Graph& graph, const Node& node, size_t input) {
  return has_input(node, input) ? static_cast<double>(graph.planned_bytes(node.inputs[input]).value_or(0))
                                : 0;
}

/// Counts a recurrent layer: its inputs are multiplied by weights for all steps at once, its states in each
/// step.
Work count_recurrence(const Graph& graph, const Node& node) {
  constexpr double operations_per_byte = 2.0 / sizeof(float);
  const std::optional<Shape> x = graph.planned_shape(node.inputs[0]);
  const double steps = x && !x->empty() ? static_cast<double>((*x)[0]) : 1;
  const double of_inputs = bytes_of(graph, node, 1), of_states = bytes_of(graph, node, 2);
  return {steps * (of_inputs + of_states) * operations_per_byte, of_inputs + steps * of_states};
}

Work count_work(const Graph& graph, const Node& node) {
  constexpr std::array recurrent{"LSTM", "GRU", "RNN"};
  if (std::ranges::find(recurrent, node.op) != recurrent.end()) return count_recurrence(graph, node);
  Work work{.operations = static_cast<double>(count_operations(graph, node))};
  for (size_t i = 0; work.operations > 0 && i < 2; ++i)
    if (graph.value(node.inputs[i]).constant) work.weights_bytes += bytes_of(graph, node, i);
  return work;
}

}  // namespace

bool is_better_at_once(const Graph& item) {
  Work all;
  for (const Node& node : item.nodes) {
    const Work work = count_work(item, node);
    all.operations += work.operations;
    all.weights_bytes += work.weights_bytes;
  }
  return all.operations < least_operations || all.operations < least_operations_per_byte * all.weights_bytes;
}

}  // namespace intarsia::halide
