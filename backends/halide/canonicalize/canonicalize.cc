#include "backends/halide/canonicalize/canonicalize.h"

#include <algorithm>
#include <array>

#include "backends/halide/abi/element_types.h"
#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/canonicalize/told_sizes.h"
#include "backends/halide/core/core_ops.h"
#include "base/own_domain.h"

namespace intarsia::halide {
namespace {

struct Family {
  std::span<const RuleEntry> (*rules)();
  Numbers numbers = Numbers::computed;
};
constexpr auto families = std::to_array<Family>({{elementwise_rules},
                                                 {movement_rules, Numbers::moved},
                                                 {indexing_rules, Numbers::moved},
                                                 {window_rules},
                                                 {contraction_rules},
                                                 {einsum_rules},
                                                 {reduction_rules},
                                                 {resize_rules},
                                                 {recurrent_rules, Numbers::prepared},
                                                 {quantization_rules, Numbers::moved},
                                                 {scatter_rules},
                                                 {selection_rules},
                                                 {counted_rules, Numbers::moved},
                                                 {sampling_rules},
                                                 {tree_rules},
                                                 {random_rules}});

FoundRule find_rule(const Node& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx" && node.domain != "ai.onnx.ml" &&
      node.domain != own_domain)
    return {};
  for (const Family& family : families)
    for (const RuleEntry& entry : family.rules())
      if (entry.op == node.op) return {entry.rule, family.numbers};
  return {};
}

bool are_known(const ValueType& type) {
  return type.shape && std::ranges::all_of(*type.shape, [](const Dim& size) { return size.is_known(); });
}

/// Maximum rank of a tensor. Buffers of a blob have at most 16 axes (load.cc), of which a contraction adds
/// two.
constexpr size_t max_rank = 12;

Status check_value(const Graph& graph, const Node& node, ValueId id) {
  const ValueType& type = graph.value(id).type;
  if (type.opaque || find_element_type(type.dtype) == nullptr)
    return fail("{} on {} is not supported", node.op, print_type(type));
  if (!are_known(type)) return fail("{} on {}: sizes must be known", node.op, print_type(type));
  if (type.shape->size() > max_rank)
    return fail("{} on rank {} is not supported", node.op, type.shape->size());
  const std::optional<Shape> shape = type.fixed_shape();
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

/// Returns the sizes of axes of more than one element that broadcast, with those that they broadcast to.
std::vector<std::pair<Dim, Dim>> find_broadcasts(const Graph& graph, const Node& node) {
  const CoreOp op = op_of(node);
  if (form_of(op) != Form::elementwise && op != CoreOp::matmul && op != CoreOp::expand) return {};
  const SymbolicShape& to = sizes_of(graph, node.outputs[0]);
  const size_t kept = op == CoreOp::matmul ? 2 : 0;  // axes of a matrix do not broadcast
  std::vector<std::pair<Dim, Dim>> pairs;
  for (ValueId input : node.inputs) {
    const SymbolicShape& from = sizes_of(graph, input);
    const size_t skipped = to.size() - from.size();
    for (size_t i = 0; i + kept < from.size(); ++i)
      if (from[i] != 1) pairs.emplace_back(from[i], to[i + skipped]);
  }
  return pairs;
}

/// Replaces sizes by those that they are in all runs that do not fail. A run with others fails where an
/// argument's size is checked.
///   %p : f32[min(s,512),4], %y : f32[s,4] = Add(%x : f32[s,4], %p)   ->   %p : f32[s,4]
void take_limited_sizes(Graph& graph) {
  std::vector<std::pair<Dim, Dim>> limited;
  for (const Node& node : graph.nodes)
    for (auto& [from, to] : find_broadcasts(graph, node))
      if (is_limited(from, to)) limited.emplace_back(std::move(from), std::move(to));
  for (const auto& [from, to] : limited)
    for (Value& value : graph.values)
      if (value.type.shape) std::ranges::replace(*value.type.shape, from, to);
}

/// Returns pairs of sizes that must be equal for the core operator to compute what it says.
std::vector<std::pair<Dim, Dim>> find_equal_sizes(const Graph& graph, const Node& node) {
  const SymbolicShape& out = sizes_of(graph, node.outputs[0]);
  std::vector<std::pair<Dim, Dim>> pairs;
  const auto add = [&](const SymbolicShape& in, size_t first, size_t last, int64_t without) {
    for (size_t i = first; i < last; ++i)
      if (static_cast<int64_t>(i) != without) pairs.emplace_back(in[i], out[i]);
  };
  switch (op_of(node)) {
    case CoreOp::concat:
      for (ValueId input : node.inputs)
        add(sizes_of(graph, input), 0, out.size(), attributes_of<AxisAttributes>(node).axis);
      return pairs;
    case CoreOp::gather_elements:
      add(sizes_of(graph, node.inputs[0]), 0, out.size(), attributes_of<AxisAttributes>(node).axis);
      for (auto& [in, taken] : pairs) in = smaller_of(in, taken);  // it may take fewer
      return pairs;
    case CoreOp::gather_nd:
      add(sizes_of(graph, node.inputs[0]), 0,
          static_cast<size_t>(attributes_of<GatherNdAttributes>(node).batch_dims), -1);
      return pairs;
    default:
      return find_broadcasts(graph, node);
  }
}

/// Adds the requirement that two sizes are equal in each run. Returns false if they never are, or are
/// unknown.
bool require_equal(const Dim& a, const Dim& b, std::vector<SizeRequirement>& requirements) {
  const Dim more = a - b;
  if (more.is_number() || !more.is_known()) return false;
  for (const Dim& nonnegative : {more, 0 - more})
    requirements.push_back({nonnegative, fmt::format("sizes {} and {} differ", a.print(), b.print())});
  return true;
}

/// Checks that the sizes of a core operator fit each other for all values of the open sizes. Whether a
/// reshape keeps the number of elements, and what is put together has equal sizes, may also depend on them,
/// as where an axis is halved; a run checks that.
bool fit_for_all_sizes(const Graph& graph, const Node& node, std::vector<SizeRequirement>& requirements) {
  const SymbolicShape& out = sizes_of(graph, node.outputs[0]);
  if (op_of(node) == CoreOp::reshape) {
    const SymbolicShape& in = sizes_of(graph, node.inputs[0]);
    const Dim more = product_of_dims(in, 0, in.size()) - product_of_dims(out, 0, out.size());
    if (more == 0) return true;
    if (more.is_number() || !more.is_known()) return false;
    for (const Dim& nonnegative : {more, 0 - more})
      requirements.push_back({nonnegative, fmt::format("shape {} does not hold the elements of {}",
                                                       print_shape(out), print_shape(in))});
    return true;
  }
  const bool is_exact = op_of(node) == CoreOp::concat || op_of(node) == CoreOp::gather_nd;
  return std::ranges::all_of(find_equal_sizes(graph, node), [&](const auto& pair) {
    const auto& [a, b] = pair;
    return provably_equal(a, b) || (is_exact && require_equal(a, b, requirements));
  });
}

/// Checks that no axis is always empty, and that the product of the sizes, which strides are parts of, is not
/// too long an expression.
bool have_elements(const SymbolicShape& sizes) {
  return product_of_dims(sizes, 0, sizes.size()).is_known() &&
         std::ranges::all_of(sizes, [](const Dim& size) { return size.is_known() && size != 0; });
}

/// Checks what holds by shape inference alone where all sizes are numbers.
Status check_open_sizes(const Graph& graph, std::vector<SizeRequirement>& requirements) {
  for (const Value& value : graph.values)
    if (!value.constant && value.type.shape && !have_elements(*value.type.shape))
      return fail("sizes {}: one is 0, or an expression is too long", print_shape(*value.type.shape));
  for (const Node& node : graph.nodes)
    if (!fit_for_all_sizes(graph, node, requirements))
      return fail("{} to {}: whether the sizes fit is not known before a run", node.op,
                  print_shape(sizes_of(graph, node.outputs[0])));
  return {};
}

/// Checks that nothing in the region reads what has a size that its kernel counts.
Status check_counted(const Graph& graph) {
  for (const Node& node : graph.nodes)
    for (ValueId input : node.inputs)
      if (const NodeId from = graph.value(input).producer;
          from != no_node && counted_output(graph.node(from)))
        return fail("{} reads the output of {}, whose size is known after its region", node.op,
                    graph.node(from).op);
  return {};
}

}  // namespace

bool has_open_sizes(const Graph& region) {
  return std::ranges::any_of(region.values, [](const Value& value) {
    return !value.constant && value.type.shape && !value.type.fixed_shape();
  });
}

bool is_bound_by_runs(const Graph& graph) { return has_open_sizes(graph) || has_counted_outputs(graph); }

Result<Graph> canonicalize(const Graph& region, std::vector<SizeRequirement>* requirements) {
  TRY(check_values(region));
  Rewriter rewriter(region);
  Graph graph = TRY(rewriter.rewrite(find_rule));
  std::vector<SizeRequirement> required = rewriter.requirements();
  check_canonical(graph);
  TRY(check_counted(graph));
  if (has_open_sizes(graph)) {
    if (const std::string untold = find_untold_size(region); !untold.empty())
      return fail("no input has an axis that tells the size '{}'", untold);
    take_limited_sizes(graph);
    TRY(check_open_sizes(graph, required));
  }
  if (requirements != nullptr) *requirements = std::move(required);
  return graph;
}

std::vector<std::string_view> canonicalized_operators() {
  std::vector<std::string_view> names;
  for (const Family& family : families)
    for (const RuleEntry& entry : family.rules()) names.push_back(entry.op);
  std::ranges::sort(names);
  return names;
}

}  // namespace intarsia::halide
