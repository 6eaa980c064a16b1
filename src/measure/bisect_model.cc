#include "measure/bisect_model.h"

#include <algorithm>
#include <set>

#include "import/import_model.h"
#include "passes/remove_dead_nodes.h"

namespace intarsia {
namespace {

/// Most values made outputs at once: more need fewer compiles, but split more fused kernels.
constexpr size_t max_probes = 16;

struct Candidate {
  std::string value, node;
};

/// Model as imported, and the values to check in it.
struct Search {
  Graph graph;
  std::vector<Candidate> candidates;  // values in the model's order
};

/// Finds the first output of every node that depends on an input, if it is a tensor and one of `values`.
std::vector<Candidate> find_candidates(const Graph& graph, const std::set<std::string>& values) {
  std::vector<bool> varies(graph.values.size(), false);
  for (ValueId input : graph.inputs) varies[index(input)] = true;
  std::vector<Candidate> candidates;
  for (const Node& node : graph.nodes) {
    const auto reads = values_read(node);
    if (std::ranges::none_of(reads, [&](ValueId id) { return varies[index(id)]; })) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (has_output(node, i)) varies[index(node.outputs[i])] = true;
    }
    if (!has_output(node, 0)) continue;
    const Value& value = graph.value(node.outputs[0]);
    if (value.type.opaque || value.type.dtype == DType::undefined || !values.contains(value.name)) continue;
    candidates.push_back({value.name, node.name.empty() ? value.name : node.name});
  }
  return candidates;
}

/// Imports the model and finds candidates among its values with types; values that are folded by then need no
/// check.
Result<Search> prepare_search(const CheckRequest& request, const CheckTools& tools) {
  CompileRequest import = request.compile;
  import.model_path = request.path;
  import.print_after.clear();
  import.stop_after.clear();
  PassRunner passes(import, tools.compile);
  const ImportedFunction imported = TRY(import_functions(passes))[0];
  const bool has_signatures = find_model_format(request.path) == ModelFormat::saved_model;
  Search search{
      TRY(import_model(request.path, {has_signatures ? imported.name : "", tools.compile.tensorflow})), {}};
  std::set<std::string> names;
  for (const Value& value : search.graph.values) names.insert(value.name);
  search.candidates = find_candidates(imported.problem->graph, names);
  return search;
}

/// Returns an oracle of some values of the graph.
Oracle oracle_of(const Graph& graph, const std::vector<std::string>& values, const Oracle& oracle) {
  return {oracle.name,
          [&](const std::string&, const std::string&, std::span<const NamedValue> inputs) {
            Graph part = graph;
            part.outputs.clear();
            for (size_t v = 0; v < part.values.size(); ++v) {
              if (std::ranges::find(values, part.values[v].name) != values.end())
                part.outputs.push_back(ValueId(v));
            }
            remove_dead_nodes(part);
            return oracle.run_graph(part, inputs);
          },
          {}};
}

/// Returns numbers between `begin` and `end`, evenly spaced, including the last one.
std::vector<size_t> choose_probes(size_t begin, size_t end) {
  const size_t count = std::min(end - begin, max_probes);
  std::vector<size_t> probes;
  for (size_t i = 1; i <= count; ++i) probes.push_back(begin + i * (end - begin) / count - 1);
  return probes;
}

}  // namespace

Result<std::optional<BadNode>> find_first_bad_node(const CheckRequest& request, const CheckTools& tools) {
  const auto [graph, candidates] = TRY(prepare_search(request, tools));
  std::optional<BadNode> found;
  // The values before `begin` that were checked are right; that of `end` - 1 is wrong once there is a
  // `found`.
  size_t begin = 0, end = candidates.size();
  while (begin < end) {
    const std::vector<size_t> probes = choose_probes(begin, end);
    CheckRequest part = request;
    part.compile.outputs.clear();
    part.compile.print_after.clear();
    part.compile.keep_placement = true;  // a framework that is faster for this part would hide the fault
    part.all_alternatives = false;
    part.several_sizes = false;
    part.compile.memory_limits.clear();  // more outputs need more
    for (size_t probe : probes) part.compile.outputs.push_back(candidates[probe].value);
    const Oracle oracle = oracle_of(graph, part.compile.outputs, tools.oracle);
    const CheckResult result = TRY(check_model(part, {tools.compile, tools.backends, oracle}));
    const auto bad = std::ranges::find_if(probes, [&](size_t probe) {
      const auto output = std::ranges::find(result.outputs, candidates[probe].value, &CheckedOutput::name);
      return output != result.outputs.end() && !output->difference.ok;
    });
    if (bad == probes.end()) {
      if (found) found->exact = false;
      return found;
    }
    const auto output = std::ranges::find(result.outputs, candidates[*bad].value, &CheckedOutput::name);
    if (bad != probes.begin()) begin = *std::prev(bad) + 1;
    end = *bad + 1;
    found = BadNode{candidates[*bad].node, output->difference.why, true,
                    begin > 0 ? candidates[begin - 1].node : ""};
    if (end - begin == 1) return found;
  }
  return found;
}

CheckRequest request_of_model(const CheckRequest& request, const CheckResult& result) {
  CheckRequest model = request;
  model.path = result.model_path;
  model.model_path.clear();
  model.bind.devices.clear();
  for (const auto& [input, shape] : result.shapes) model.compile.shapes[input] = shape;
  if (find_model_format(model.path) == ModelFormat::saved_model) model.compile.signatures = {result.function};
  return model;
}

}  // namespace intarsia
