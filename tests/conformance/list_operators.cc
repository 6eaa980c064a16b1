// Lists what the program knows about operators, as one JSON object: list_operators FOLDER
//
// FOLDER contains frozen graphs of TensorFlow operators (tests/conformance/tensorflow_operators.py): the
// results for their nodes show what translations consist of and which backends take them.
// scripts/write_ledger.py writes a page from it.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/target.h"
#include "backends/reference/evaluate.h"
#include "backends/reference/kernel.h"
#include "backends/reference/target.h"
#include "backends/tensorflow/op_registry.h"
#include "backends/tensorflow/saved_model.h"
#include "backends/tensorflow/target.h"
#include "compile/control_flow.h"
#include "compile/translating_target.h"
#include "graph/op_table.h"
#include "import/freeze_function.h"
#include "import/import_tensorflow.h"
#include "import/operator_roles.h"
#include "passes/bind_shapes.h"
#include "passes/infer_types.h"
#include "passes/remove_dead_nodes.h"
#include "passes/translated.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

using Json = nlohmann::ordered_json;

Json list_standard_operators() {
  const std::vector<std::string_view> rules = halide::canonicalized_operators();
  const auto decomposed = decomposed_operators();
  Json list = Json::array();
  const auto add = [&](std::string_view domain, std::string_view name, bool halide, bool reference) {
    list.push_back({{"domain", domain}, {"name", name}, {"halide", halide}, {"reference", reference}});
  };
  for (const OpInfo& op : all_ops()) {
    const bool has_rule =
        (op.domain.empty() || op.domain == "ai.onnx.ml") && std::ranges::binary_search(rules, op.name);
    const bool has_parts = std::ranges::binary_search(decomposed, std::pair(op.domain, op.name));
    add(op.domain, op.name, has_rule || has_parts, reference::find_kernel(op.domain, op.name) != nullptr);
  }
  for (const auto& [domain, name] : decomposed)
    if (find_op(domain, name) == nullptr) add(domain, name, true, true);
  for (const std::string_view name : control_flow_operators) add("", name, true, true);
  return list;
}

/// Returns what importing a model makes of an operator.
const char* role_of(const tensorflow::OpDef& op) {
  if (changes_state(op.name)) return "refused";
  if (is_reference_variable(op.name)) return "reference variable";
  if (op.name == "Placeholder") return "input";
  if (op.name == "Const") return "constant";
  if (is_alias(op.name)) return "alias";
  if (is_variable(op.name) || reads_variable(op.name)) return "variable";
  if (calls_function(op.name)) return "call";
  return op.outputs.empty() ? "left out" : "node";
}

/// Occurrences of an operator in all graphs.
struct Seen {
  std::set<std::string> becomes;
  int nodes = 0, by_halide = 0, by_reference = 0;  // counts of nodes that remain after folding constants
};

class Cases {
 public:
  Status open() {
    halide_ = make_translating_target(halide::make_target(), reference::evaluate_node);
    reference_ = make_translating_target(make_reference_target(), reference::evaluate_node);
    tensorflow_ = TRY(make_tensorflow_target({}));
    return {};
  }

  Status look_at(const std::string& path) {
    Graph graph = TRY(import_graph_def(path, make_tensorflow_source({})));
    TRY(bind_shapes(graph, {}, Unmentioned::become_one));
    TRY(infer_types(graph, reference::evaluate_node,
                    [&](Graph& g, NodeId node) { return tensorflow_->infer_types(g, node); }));
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) note_translation(graph, NodeId{i});
    remove_dead_nodes(graph);
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) note_targets(graph, NodeId{i});
    return {};
  }

  const std::map<std::string, Seen>& seen() const { return seen_; }

 private:
  void note_translation(const Graph& graph, NodeId id) {
    Result<Graph> translated = translated_node(graph, id, reference::evaluate_node, Weights::kept);
    if (!translated) return;
    remove_dead_nodes(*translated);
    Seen& seen = seen_[graph.node(id).op];
    for (const Node& node : translated->nodes) seen.becomes.insert(node.op);
  }

  void note_targets(const Graph& graph, NodeId id) {
    if (!translate_node(graph, id)) return;
    Seen& seen = seen_[graph.node(id).op];
    ++seen.nodes;
    seen.by_halide += halide_->supports(graph, id, {}).yes;
    seen.by_reference += reference_->supports(graph, id, {}).yes;
  }

  std::unique_ptr<Target> halide_, reference_, tensorflow_;
  std::map<std::string, Seen> seen_;
};

Json list_translations(const Cases& cases) {
  Json list = Json::array();
  for (std::string_view name : translated_operators()) {
    const auto at = cases.seen().find(std::string(name));
    Json entry{{"name", name}, {"seen", at != cases.seen().end()}};
    if (at != cases.seen().end()) {
      const Seen& seen = at->second;
      entry.update({{"becomes", seen.becomes},
                    {"nodes", seen.nodes},
                    {"halide", seen.by_halide},
                    {"reference", seen.by_reference}});
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Result<Json> list_registry() {
  const tf::OpRegistry& registry = *TRY(tf::op_registry());
  Json list = Json::array();
  for (const std::string& name : registry.names()) {
    if (name.starts_with('_')) continue;  // internal to TensorFlow, in no model
    list.push_back({{"name", name},
                    {"role", role_of(*TRY(registry.find(name)))},
                    {"kernel", registry.has_kernel(name, {}).yes}});
  }
  return list;
}

Result<Json> list_all(const std::string& folder) {
  Cases cases;
  TRY(cases.open());
  std::error_code error;
  std::set<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".pb") paths.insert(entry.path().string());
  }
  if (paths.empty()) return fail("no frozen graphs in '{}'", folder);
  for (const std::string& path : paths) TRY(with_context(cases.look_at(path), "{}", path));
  return Json{{"onnx", list_standard_operators()},
              {"tensorflow", TRY(list_registry())},
              {"translations", list_translations(cases)}};
}

}  // namespace
}  // namespace intarsia

int main(int count, char** arguments) {
  if (count != 2) return std::fputs("usage: list_operators FOLDER\n", stderr), 2;
  const intarsia::Result<intarsia::Json> all = intarsia::list_all(arguments[1]);
  if (!all) return std::fprintf(stderr, "error: %s\n", all.error().message.c_str()), 1;
  std::puts(all->dump(1).c_str());
}
