#include "passes/joined_sizes.h"

#include <algorithm>

#include "graph/op_table.h"
#include "graph/shape_rules.h"
#include "passes/translated.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

using Pair = std::pair<std::string, std::string>;

/// Returns the symbols of two sizes that are equal if and only if the symbols are.
std::optional<Pair> symbols_that_meet(const Dim& a, const Dim& b) {
  const std::optional<LinearSize> x = a.linear(), y = b.linear();
  if (!x || !y || x->symbol == y->symbol || x->factor != y->factor || x->rest != y->rest) return std::nullopt;
  return Pair{x->symbol, y->symbol};
}

/// Returns the sizes of axes of two inputs that a node combines, the last axis first.
std::vector<std::pair<Dim, Dim>> combined_sizes(const Node& node, const SymbolicShape& a,
                                                const SymbolicShape& b) {
  std::vector<std::pair<Dim, Dim>> pairs;
  const size_t rank = std::min(a.size(), b.size());
  const auto at_end = [](const SymbolicShape& shape, size_t i) { return shape[shape.size() - 1 - i]; };
  const OpInfo* info = find_op(node);
  if (info != nullptr && info->elementwise)
    for (size_t i = 0; i < rank; ++i) pairs.emplace_back(at_end(a, i), at_end(b, i));
  if (node.op == "MatMul" && rank >= 2) {
    pairs.emplace_back(at_end(a, 0), at_end(b, 1));
    for (size_t i = 2; i < rank; ++i) pairs.emplace_back(at_end(a, i), at_end(b, i));
  }
  if (node.op == "Concat" && a.size() == b.size()) {
    const int64_t axis = node.attributes.get_int("axis", 0);
    const auto joined = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
    for (size_t i = 0; i < rank; ++i)
      if (i != joined) pairs.emplace_back(a[i], b[i]);
  }
  return pairs;
}

/// Returns symbols that meet in the node and that `may_join`.
template <typename Predicate>
std::optional<Pair> find_meeting(const Graph& graph, const Node& node, const Predicate& may_join) {
  const auto shape_of = [&](size_t i) -> const SymbolicShape* {
    const bool is_tensor = has_input(node, i) && graph.value(node.inputs[i]).type.shape;
    return is_tensor ? &*graph.value(node.inputs[i]).type.shape : nullptr;
  };
  for (size_t i = 0; i < node.inputs.size(); ++i)
    for (size_t k = i + 1; k < node.inputs.size(); ++k) {
      const SymbolicShape *a = shape_of(i), *b = shape_of(k);
      if (a == nullptr || b == nullptr) continue;
      for (const auto& [x, y] : combined_sizes(node, *a, *b))
        if (const std::optional<Pair> met = symbols_that_meet(x, y); met && may_join(*met)) return met;
    }
  return std::nullopt;
}

}  // namespace

std::optional<JoinedSizes> find_sizes_to_join(const Graph& graph, const Evaluate& evaluate) {
  if (graph.open_sizes.size() < 2) return std::nullopt;
  const auto find_size = [&](const std::string& name) {
    return std::ranges::find(graph.open_sizes, name, &OpenSize::name);
  };
  const auto may_join = [&](const Pair& met) {
    const auto a = find_size(met.first), b = find_size(met.second);
    return a != graph.open_sizes.end() && b != graph.open_sizes.end() && (a->by_default || b->by_default);
  };
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::optional<Pair> met;
    if (!is_foreign(node)) {
      met = find_meeting(graph, node, may_join);
    } else if (const auto translated = translated_node(graph, NodeId{i}, evaluate, Weights::by_type)) {
      for (size_t n = 0; n < translated->nodes.size() && !met; ++n)
        met = find_meeting(*translated, translated->nodes[n], may_join);
    }
    if (!met) continue;
    const auto& [a, b] = *met;
    return find_size(b)->by_default ? JoinedSizes{a, b, node.name} : JoinedSizes{b, a, node.name};
  }
  return std::nullopt;
}

void join_sizes(Graph& graph, const JoinedSizes& sizes) {
  const std::map<std::string, Dim> replacement{{sizes.joined, Dim::named(sizes.kept)}};
  replace_sizes(graph, [&](const Dim& size) { return size.substitute(replacement); });
  const auto find_size = [&](const std::string& name) {
    return std::ranges::find(graph.open_sizes, name, &OpenSize::name);
  };
  OpenSize& kept = *find_size(sizes.kept);
  for (int64_t size : find_size(sizes.joined)->tuned)
    if (kept.range.contains(size) && std::ranges::find(kept.tuned, size) == kept.tuned.end())
      kept.tuned.push_back(size);
  std::erase_if(graph.open_sizes, [&](const OpenSize& size) { return size.name == sizes.joined; });
}

}  // namespace intarsia
