#include "backends/halide/canonicalize/canonicalize.h"

#include <algorithm>
#include <array>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/core/core_ops.h"

namespace intarsia::halide {
namespace {

constexpr std::array families{elementwise_rules, movement_rules,  indexing_rules, window_rules,
                              contraction_rules, reduction_rules, resize_rules,   recurrent_rules};

const RuleEntry* find_entry(const Node& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return nullptr;
  for (auto family : families)
    for (const RuleEntry& entry : family())
      if (entry.op == node.op) return &entry;
  return nullptr;
}

Rewriter::Rule find_rule(const Node& node) {
  const RuleEntry* entry = find_entry(node);
  return entry != nullptr ? entry->rule : nullptr;
}

bool are_known(const ValueType& type) {
  return type.shape && std::ranges::all_of(*type.shape, [](const Dim& size) { return size.is_known(); });
}

/// Maximum rank of a tensor. Buffers of a blob have at most 16 axes (load.cc), of which a contraction adds
/// two.
constexpr size_t max_rank = 12;

Status check_value(const Graph& graph, const Node& node, ValueId id) {
  const ValueType& type = graph.value(id).type;
  if (type.opaque || !is_supported_dtype(type.dtype))
    return fail("{} on {} is not supported", node.op, print_type(type));
  const RuleEntry* entry = find_entry(node);
  const bool takes_open_sizes = entry != nullptr && entry->sizes == Sizes::open;
  const std::optional<Shape> shape = type.fixed_shape();
  if (!are_known(type) || (!shape && !takes_open_sizes))
    return fail("{} on {}: sizes must be numbers", node.op, print_type(type));
  if (type.shape->size() > max_rank)
    return fail("{} on rank {} is not supported", node.op, type.shape->size());
  if (!shape) return {};
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

/// Calls `each` with the sizes of axes of more than one element that broadcast to another one, and with those.
/// Returns whether it returned true for all.
template <typename Each>
bool all_broadcasts(const Graph& graph, const Node& node, Each each) {
  const CoreOp op = op_of(node);
  if (form_of(op) != Form::elementwise && op != CoreOp::matmul && op != CoreOp::expand) return true;
  const SymbolicShape& to = sizes_of(graph, node.outputs[0]);
  const size_t kept = op == CoreOp::matmul ? 2 : 0;  // axes of a matrix do not broadcast
  for (ValueId input : node.inputs) {
    const SymbolicShape& from = sizes_of(graph, input);
    const size_t skipped = to.size() - from.size();
    for (size_t i = 0; i + kept < from.size(); ++i)
      if (from[i] != 1 && !each(from[i], to[i + skipped])) return false;
  }
  return true;
}

/// Checks that the sizes of a core operator fit each other for all values of the open sizes for which those of
/// `equal_sizes` are equal.
bool fit_for_all_sizes(const Graph& graph, const Node& node) {
  const SymbolicShape &in = sizes_of(graph, node.inputs[0]), &out = sizes_of(graph, node.outputs[0]);
  if (op_of(node) == CoreOp::reshape)
    return provably_equal(product_of_dims(in, 0, in.size()), product_of_dims(out, 0, out.size()));
  return all_broadcasts(graph, node, [](const Dim& from, const Dim& to) {
    return provably_equal(from, to) || is_limited(from, to);
  });
}

/// Checks what holds by shape inference alone where all sizes are numbers.
Status check_open_sizes(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (!fit_for_all_sizes(graph, node))
      return fail("{} to {}: whether the sizes fit is not known before a run", node.op,
                  print_shape(sizes_of(graph, node.outputs[0])));
  return {};
}

}  // namespace

bool has_open_sizes(const Graph& region) {
  return std::ranges::any_of(region.values, [](const Value& value) {
    return !value.constant && value.type.shape && !value.type.fixed_shape();
  });
}

Result<Graph> canonicalize(const Graph& region) {
  TRY(check_values(region));
  Graph graph = TRY(Rewriter(region).rewrite(find_rule));
  check_canonical(graph);
  if (has_open_sizes(graph)) TRY(check_open_sizes(graph));
  return graph;
}

std::vector<std::pair<Dim, Dim>> equal_sizes(const Graph& canonical) {
  std::vector<std::pair<Dim, Dim>> pairs;
  const auto add = [&](const Dim& from, const Dim& to) {
    const std::pair pair{from, to};
    if (!provably_equal(from, to) && std::ranges::find(pairs, pair) == pairs.end()) pairs.push_back(pair);
    return true;
  };
  for (const Node& node : canonical.nodes) all_broadcasts(canonical, node, add);
  return pairs;
}

std::vector<std::string_view> canonicalized_operators() {
  std::vector<std::string_view> names;
  for (auto family : families)
    for (const RuleEntry& entry : family()) names.push_back(entry.op);
  std::ranges::sort(names);
  return names;
}

}  // namespace intarsia::halide
