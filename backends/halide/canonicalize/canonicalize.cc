#include "backends/halide/canonicalize/canonicalize.h"

#include <algorithm>
#include <array>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/core/core_ops.h"

namespace intarsia::halide {
namespace {

constexpr std::array families{elementwise_rules, movement_rules,  indexing_rules, window_rules,
                              contraction_rules, reduction_rules, resize_rules,   recurrent_rules};

Rewriter::Rule find_rule(const Node& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return nullptr;
  for (auto family : families)
    for (const RuleEntry& entry : family())
      if (entry.op == node.op) return entry.rule;
  return nullptr;
}

/// Maximum rank of a tensor. Buffers of a blob have at most 16 axes (load.cc), of which a contraction adds
/// two.
constexpr size_t max_rank = 12;

Status check_value(const Graph& graph, const Node& node, ValueId id) {
  const Value& value = graph.value(id);
  if (value.type.opaque || !is_supported_dtype(value.type.dtype))
    return fail("{} on {} is not supported", node.op, print_type(value.type));
  std::optional<Shape> shape = value.type.fixed_shape();
  if (!shape) return fail("{} on {}: sizes must be numbers", node.op, print_type(value.type));
  if (shape->size() > max_rank) return fail("{} on rank {} is not supported", node.op, shape->size());
  int64_t elements = TRY(checked_elements(*shape));
  if (elements > max_elements) return fail("{} on a tensor of {} elements", node.op, elements);
  if (elements == 0) return fail("{} on an empty tensor", node.op);
  return {};
}

/// Checks the values of all nodes, except constants: these may be empty (no axes) or strings if the rule
/// never reads their elements.
Status check_values(const Graph& region) {
  for (const Node& node : region.nodes) {
    if (!node.captures.empty()) return fail("{} with subgraphs is not supported", node.op);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (has_input(node, i) && !region.value(node.inputs[i]).constant)
        TRY(check_value(region, node, node.inputs[i]));
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (has_output(node, i)) TRY(check_value(region, node, node.outputs[i]));
  }
  return {};
}

}  // namespace

Result<Graph> canonicalize(const Graph& region) {
  TRY(check_values(region));
  Graph graph = TRY(Rewriter(region).rewrite(find_rule));
  check_canonical(graph);
  return graph;
}

std::vector<std::string_view> canonicalized_operators() {
  std::vector<std::string_view> names;
  for (auto family : families)
    for (const RuleEntry& entry : family()) names.push_back(entry.op);
  std::ranges::sort(names);
  return names;
}

}  // namespace intarsia::halide
