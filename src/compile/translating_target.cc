#include "compile/translating_target.h"

#include <algorithm>
#include <map>

#include "graph/data_sizes.h"
#include "passes/remove_dead_nodes.h"
#include "passes/translated.h"
#include "target/forwarding_target.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

class TranslatingTarget : public ForwardingTarget {
 public:
  TranslatingTarget(std::unique_ptr<Target> target, Evaluate evaluate)
      : ForwardingTarget(*target), owned_(std::move(target)), evaluate_(std::move(evaluate)) {}

  Support supports(const Graph& graph, NodeId id, const TargetDevice& device) const override {
    if (!is_translated(graph, id, device)) return target_.supports(graph, id, device);
    const Result<Graph> translated = simplify(translated_node(graph, id, evaluate_, Weights::kept));
    if (!translated) return Support::refused(translated.error().message);
    for (uint32_t i = 0; i < translated->nodes.size(); ++i) {
      if (const Support answer = target_.supports(*translated, NodeId{i}, device); !answer.yes) return answer;
      if (reads_counted(*translated, translated->nodes[i]))
        return Support::refused(
            fmt::format("{} reads what has a size that is data", translated->nodes[i].op));
    }
    return Support::supported();
  }

  /// Checks the translation of a node whose outputs have sizes that are data.
  bool ends_region(const Graph& graph, NodeId id) const override {
    if (target_.ends_region(graph, id)) return true;
    const Node& node = graph.node(id);
    if (!has_translation(node) || !makes_data_sizes(graph, node)) return false;
    const Result<Graph> translated = translate_node(graph, id);
    if (!translated) return false;
    for (uint32_t i = 0; i < translated->nodes.size(); ++i)
      if (target_.ends_region(*translated, NodeId{i})) return true;
    return false;
  }

  /// Assigns translated nodes to the groups of their translations.
  Result<std::vector<size_t>> groups(const Graph& graph, const TargetDevice& device) const override {
    if (!info().has_groups || !needs_translation(graph, device)) return target_.groups(graph, device);
    const std::vector<NodeId> nodes = translatable_nodes(graph, device);
    const Graph part = extract_subgraph(graph, nodes, BoundaryFinder(graph).find(nodes));
    const Graph translated = TRY(translate(part, device));
    return groups_by_name(graph, translated, TRY(target_.groups(translated, device)));
  }

  Result<CompiledRegion> compile(const Graph& region, const TargetDevice& device,
                                 const CompileOptions& options) const override {
    return needs_translation(region, device)
               ? target_.compile(TRY(translate(region, device)), device, options)
               : target_.compile(region, device, options);
  }

  Result<std::vector<AxisOrder>> output_layouts(const Graph& region) const override {
    return needs_translation(region, {}) ? target_.output_layouts(TRY(translate(region, {})))
                                         : target_.output_layouts(region);
  }

 private:
  static bool has_data_size(const Graph& graph, ValueId value) {
    const auto& shape = graph.value(value).type.shape;
    return !shape ||
           std::ranges::any_of(*shape, [&](const Dim& size) { return depends_on_data(graph, size); });
  }
  static bool makes_data_sizes(const Graph& graph, const Node& node) {
    return std::ranges::any_of(
        node.outputs, [&](ValueId value) { return value != no_value && has_data_size(graph, value); });
  }
  /// Checks for a node that reads an output whose size another node of its region counts.
  bool reads_counted(const Graph& graph, const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](ValueId value) {
      return value != no_value && graph.value(value).producer != no_node &&
             target_.ends_region(graph, graph.value(value).producer) && has_data_size(graph, value);
    });
  }
  /// Checks for a node that has a translation and that the target does not take as it is.
  bool is_translated(const Graph& graph, NodeId id, const TargetDevice& device) const {
    if (is_tensorflow(graph.node(id))) return true;
    return has_translation(graph.node(id)) && !target_.supports(graph, id, device).yes;
  }
  bool needs_translation(const Graph& region, const TargetDevice& device) const {
    for (uint32_t i = 0; i < region.nodes.size(); ++i)
      if (is_translated(region, NodeId{i}, device)) return true;
    return false;
  }
  /// Returns the nodes that have a translation or need none.
  std::vector<NodeId> translatable_nodes(const Graph& graph, const TargetDevice& device) const {
    std::vector<NodeId> nodes;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      if (!is_translated(graph, NodeId{i}, device) ||
          translated_node(graph, NodeId{i}, evaluate_, Weights::by_type))
        nodes.push_back(NodeId{i});
    }
    return nodes;
  }
  /// Maps groups back by the source names that translated nodes keep. Groups that share a source are merged.
  static std::vector<size_t> groups_by_name(const Graph& graph, const Graph& translated,
                                            std::vector<size_t> group_of) {
    std::map<std::string_view, size_t> group_of_name;
    for (size_t i = 0; i < group_of.size(); ++i) {
      if (group_of[i] == no_group) continue;
      const auto [at, is_first] = group_of_name.try_emplace(translated.nodes[i].name, group_of[i]);
      if (is_first || at->second == group_of[i]) continue;
      const size_t from = group_of[i], to = at->second;
      std::ranges::replace(group_of, from, to);
      for (auto& [name, group] : group_of_name) group = group == from ? to : group;
    }
    std::vector<size_t> groups;
    for (const Node& node : graph.nodes) {
      const auto at = group_of_name.find(node.name);
      groups.push_back(at == group_of_name.end() ? no_group : at->second);
    }
    return groups;
  }
  Result<Graph> translate(const Graph& region, const TargetDevice& device) const {
    return simplify(
        translated_region(region, evaluate_, [&](NodeId id) { return is_translated(region, id, device); }));
  }

  /// Removes nodes that are not needed.
  static Result<Graph> simplify(Result<Graph> translated) {
    Graph graph = TRY(std::move(translated));
    for (ValueId& output : graph.outputs) {
      if (!graph.value(output).constant) continue;
      // A node must make each output, even one that turned out to be constant.
      const std::string name = graph.value(output).name;
      graph.value(output).name = name + "/constant";
      const ValueId made = graph.add_value(name, graph.value(output).type);
      graph.add_node(Node{name, "Identity", "", translated_opset, {output}, {made}, {}, {}});
      output = made;
    }
    remove_dead_nodes(graph);
    return graph;
  }

  std::unique_ptr<Target> owned_;
  Evaluate evaluate_;
};

}  // namespace

std::unique_ptr<Target> make_translating_target(std::unique_ptr<Target> target, Evaluate evaluate) {
  return std::make_unique<TranslatingTarget>(std::move(target), std::move(evaluate));
}

}  // namespace intarsia
