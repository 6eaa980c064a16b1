#include "compile/translating_target.h"

#include <algorithm>

#include "passes/remove_dead_nodes.h"
#include "passes/translated.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

class TranslatingTarget : public Target {
 public:
  TranslatingTarget(std::unique_ptr<Target> target, Evaluate evaluate)
      : target_(std::move(target)), evaluate_(std::move(evaluate)) {}

  std::string name() const override { return target_->name(); }
  std::string version() const override { return target_->version(); }
  int code_generation() const override { return target_->code_generation(); }
  bool needs_framework() const override { return target_->needs_framework(); }
  bool makes_outputs() const override { return target_->makes_outputs(); }
  bool is_users_own() const override { return target_->is_users_own(); }
  bool hands_over(const ValueType& type) const override { return target_->hands_over(type); }
  bool supports_device(const std::string& kind) const override { return target_->supports_device(kind); }

  Support supports(const Graph& graph, NodeId id) const override {
    if (!is_tensorflow(graph.node(id))) return target_->supports(graph, id);
    const Result<Graph> translated = simplify(translated_node(graph, id, evaluate_, Weights::kept));
    if (!translated) return Support::refused(translated.error().message);
    for (uint32_t i = 0; i < translated->nodes.size(); ++i) {
      if (const Support answer = target_->supports(*translated, NodeId{i}); !answer.yes) return answer;
    }
    return Support::supported();
  }

  std::vector<std::string> step_names() const override { return target_->step_names(); }

  Status infer_types(Graph& graph, NodeId node) const override { return target_->infer_types(graph, node); }

  Result<CompiledRegion> compile(const Graph& region, const CompileOptions& options) const override {
    const bool translate = std::ranges::any_of(region.nodes, is_tensorflow);
    return translate ? target_->compile(TRY(simplify(translated_region(region, evaluate_))), options)
                     : target_->compile(region, options);
  }

 private:
  /// No more nodes than needed.
  static Result<Graph> simplify(Result<Graph> translated) {
    Graph graph = TRY(std::move(translated));
    for (ValueId& output : graph.outputs) {
      if (!graph.value(output).constant) continue;
      // An output must be made by a node, also one that turned out to be known.
      const std::string name = graph.value(output).name;
      graph.value(output).name = name + "/constant";
      const ValueId made = graph.add_value(name, graph.value(output).type);
      graph.add_node(Node{name, "Identity", "", translated_opset, {output}, {made}, {}, {}});
      output = made;
    }
    remove_dead_nodes(graph);
    return graph;
  }

  std::unique_ptr<Target> target_;
  Evaluate evaluate_;
};

}  // namespace

std::unique_ptr<Target> make_translating_target(std::unique_ptr<Target> target, Evaluate evaluate) {
  return std::make_unique<TranslatingTarget>(std::move(target), std::move(evaluate));
}

}  // namespace intarsia
