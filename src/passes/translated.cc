#include "passes/translated.h"

#include "passes/infer_types.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

void forget_large_constants(Graph& graph) {
  constexpr size_t large_bytes = 1 << 16;
  for (Value& value : graph.values) {
    if (value.constant && value.constant->bytes() > large_bytes) value.constant.reset();
  }
}

/// Leaves integers in blocks to the readers of their numbers, which take several times the memory.
Evaluate without_blocks(const Evaluate& evaluate) {
  return [&evaluate](const Node& node, std::span<const Tensor* const> inputs) -> Result<std::vector<Tensor>> {
    if (node.op == "DequantizeLinear" && node.attributes.get_int("block_size", 0) != 0)
      return fail("{} of blocks", node.op);
    return evaluate(node, inputs);
  };
}

}  // namespace

Result<Graph> translated_node(const Graph& graph, NodeId node, const Evaluate& evaluate, Weights weights) {
  Graph translated = TRY(translate_node(graph, node));
  translated.open_sizes = graph.open_sizes;
  if (weights == Weights::by_type) forget_large_constants(translated);
  TRY(infer_types(translated, without_blocks(evaluate), {}));
  return translated;
}

Result<Graph> translated_region(const Graph& region, const Evaluate& evaluate,
                                const std::function<bool(NodeId)>& is_chosen) {
  Graph translated = TRY(translate_graph(region, is_chosen));
  translated.open_sizes = region.open_sizes;
  TRY(infer_types(translated, without_blocks(evaluate), {}));
  return translated;
}

}  // namespace intarsia
