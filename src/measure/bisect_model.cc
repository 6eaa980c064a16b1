#include "measure/bisect_model.h"

#include <algorithm>

#include "import/import_model.h"

namespace intarsia {
namespace {

/// Values made outputs at once: more need fewer compiles, but tear more fused kernels apart.
constexpr size_t most_probes = 16;

struct Candidate {
  std::string value, node;
};

/// Of every node that depends on an input its first output that is a tensor, in order.
std::vector<Candidate> find_candidates(const Graph& graph) {
  std::vector<bool> varies(graph.values.size(), false);
  for (ValueId input : graph.inputs) varies[index(input)] = true;
  std::vector<Candidate> candidates;
  for (const Node& node : graph.nodes) {
    const auto reads = values_read(node);
    if (std::ranges::none_of(reads, [&](ValueId id) { return varies[index(id)]; })) continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (has_output(node, i)) varies[index(node.outputs[i])] = true;
    }
    if (!has_output(node, 0) || graph.value(node.outputs[0]).type.opaque) continue;
    const std::string& value = graph.value(node.outputs[0]).name;
    candidates.push_back({value, node.name.empty() ? value : node.name});
  }
  return candidates;
}

/// The reference kernels' values of some values of the graph.
Oracle reference_of(const Graph& graph, const std::vector<std::string>& values, const Evaluate& evaluate) {
  return {"reference", [=](const std::string&, const std::string&, std::span<const NamedValue> inputs) {
            Graph part = graph;
            part.outputs.clear();
            for (size_t v = 0; v < part.values.size(); ++v) {
              if (std::ranges::find(values, part.values[v].name) != values.end()) part.outputs.push_back(ValueId(v));
            }
            return evaluate_graph(part, inputs, evaluate);
          }};
}

/// Numbers between `begin` and `end`, evenly spread, the last one among them.
std::vector<size_t> choose_probes(size_t begin, size_t end) {
  const size_t count = std::min(end - begin, most_probes);
  std::vector<size_t> probes;
  for (size_t i = 1; i <= count; ++i) probes.push_back(begin + i * (end - begin) / count - 1);
  return probes;
}

}  // namespace

Result<std::optional<BadNode>> find_first_bad_node(const CheckRequest& request, const CheckTools& tools) {
  if (find_model_format(request.path) != ModelFormat::onnx) return fail("parts of a TensorFlow model cannot be compared yet; compare the ONNX form of it");
  const Graph graph = TRY(import_model(request.path));
  const std::vector<Candidate> candidates = find_candidates(graph);
  std::optional<BadNode> found;
  // The values before `begin` that were looked at are right, that of `end` - 1 is wrong once there is a `found`.
  size_t begin = 0, end = candidates.size();
  while (begin < end) {
    const std::vector<size_t> probes = choose_probes(begin, end);
    CheckRequest part = request;
    part.compile.outputs.clear();
    part.compile.keep_placement = true;  // a framework that is faster for this part would hide what is looked for
    for (size_t probe : probes) part.compile.outputs.push_back(candidates[probe].value);
    const Oracle oracle = reference_of(graph, part.compile.outputs, tools.compile.evaluate);
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
    found = BadNode{candidates[*bad].node, output->difference.why, true, begin > 0 ? candidates[begin - 1].node : ""};
    if (end - begin == 1) return found;
  }
  return found;
}

}  // namespace intarsia
