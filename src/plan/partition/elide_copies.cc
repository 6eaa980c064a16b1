#include "plan/partition/elide_copies.h"

#include <set>

#include "plan/partition/insert_copies.h"

namespace intarsia {

StepList elide_copies(const StepList& steps) {
  std::set<PlacedValue> present;
  StepList kept;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::copy && !present.insert(step.to).second) continue;
    kept.push_back(step);
  }
  return kept;
}

Status verify_steps(const Graph& graph, const Partition& partition,
                    const std::vector<uint32_t>& space_of_target, const StepList& steps) {
  std::set<PlacedValue> present;
  for (ValueId input : graph.inputs) present.insert({input, host_memory});
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::copy) {
      const std::string& name = graph.value(step.from.value).name;
      if (graph.value(step.from.value).constant) return fail("constant '{}' is copied at run time", name);
      if (!present.contains(step.from)) return fail("'{}' is copied from where it is not", name);
      if (!present.insert(step.to).second) return fail("'{}' is copied to one memory twice", name);
      continue;
    }
    const uint32_t memory = space_of_target[partition.regions[step.region].target];
    for (ValueId input : partition.boundaries[step.region].inputs) {
      if (!present.contains({input, memory}))
        return fail("region {} reads '{}', which is not in its memory", step.region, graph.value(input).name);
    }
    for (ValueId output : partition.boundaries[step.region].outputs) present.insert({output, memory});
  }
  for (ValueId output : graph.outputs) {
    const Value& value = graph.value(output);
    if (!value.constant && !present.contains({output, host_memory}))
      return fail("output '{}' does not reach the host", value.name);
  }
  return {};
}

}  // namespace intarsia
