#include "plan/costs/plan_keys.h"

#include <map>
#include <set>

#include "base/digest.h"
#include "graph/graph_content.h"
#include "plan/costs/segment_times.h"
#include "plan/partition/boundary_layouts.h"
#include "plan/partition/describe_plan.h"
#include "plan/partition/partition_graph.h"

namespace intarsia {
namespace {

/// Appends a name: "halide" and "onnxruntime" make "halide+onnxruntime".
void append(std::string& names, const std::string& name) { names += names.empty() ? name : "+" + name; }

/// Returns the `code` of a key: "10, native, tune fast".
std::string code_of(const std::string& generation, const CostKey& conditions) {
  return fmt::format("{}, {}", generation, conditions.code);
}

/// Returns the model of the device: core sets of a machine are its CPU, with fewer threads; settings of any
/// other device count, too.
std::string device_model(const DeviceSlot& slot) {
  return slot.kind == "cpu" ? slot.kind : slot.device + slot.declared_times;
}

/// Returns the digest of a region's content and, where times are declared by name, of its names.
std::string digest_region(const Graph& region, const DeviceSlot& slot) {
  if (slot.declared_times.empty()) return digest_graph(region);
  std::string names;
  for (const Node& node : region.nodes) names += node.name + "\n";
  return content_digest(digest_graph(region) + names);
}

}  // namespace

std::string digest_graph(const Graph& graph) { return content_digest(print_content(graph)); }

std::vector<CostKey> region_keys(const PlanningProblem& problem, const Partition& partition,
                                 const CostKey& conditions) {
  std::vector<CostKey> keys;
  for (size_t r = 0; r < partition.regions.size(); ++r) {
    const Region& region = partition.regions[r];
    const PlacementTarget& target = problem.targets[region.target];
    CostKey key = conditions;
    key.kind = CostKind::region;
    key.digest = digest_region(extract_region(problem.graph, partition, r), problem.slots[target.slot]);
    key.backend = target.backend->name();
    key.version = target.backend->version();
    key.code = code_of(target.backend->info().code_generation, conditions);
    key.device = device_model(problem.slots[target.slot]);
    key.threads = problem.slots[target.slot].threads(conditions.threads);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<CostKey> part_keys(const PlanningProblem& problem, const Partition& partition,
                               const CostKey& conditions) {
  std::vector<CostKey> keys = region_keys(problem, partition, conditions);
  for (CostKey& key : keys) key.kind = CostKind::part;
  return keys;
}

std::vector<CostKey> segment_keys(const PlanningProblem& problem,
                                  const std::vector<std::vector<NodeId>>& segments,
                                  const std::vector<uint32_t>& target_of, const CostKey& conditions) {
  std::vector<Region> regions;
  for (size_t s = 0; s < segments.size(); ++s) regions.push_back({target_of[s], segments[s]});
  std::vector<CostKey> keys =
      region_keys(problem, number_regions(problem.graph, std::move(regions)), conditions);
  for (CostKey& key : keys) {
    key.kind = CostKind::node;
    key.code += fmt::format(", divided {}", segment_times_version);
  }
  return keys;
}

CostKey plan_key(const PlanningProblem& problem, const Partition& partition, const std::string& graph_digest,
                 const CostKey& conditions) {
  std::map<std::string, const Target*> backends;
  std::set<std::string> devices;
  for (const Region& region : partition.regions) {
    const PlacementTarget& target = problem.targets[region.target];
    backends[target.backend->name()] = target.backend;
    devices.insert(device_model(problem.slots[target.slot]));
  }
  CostKey key = conditions;
  key.kind = CostKind::plan;
  key.digest = content_digest(graph_digest + identify_plan(problem, partition));
  std::string generations;
  for (const auto& [name, backend] : backends) {
    append(key.backend, name);
    append(key.version, backend->version());
    append(generations, backend->info().code_generation);
  }
  key.code = code_of(generations, conditions);
  for (const std::string& device : devices) append(key.device, device);
  return key;
}

std::string link_key(const DeviceSlot& slot) {
  std::string key = slot.device;
  for (const std::string& part : {slot.plugin_version, slot.declared_times})
    if (!part.empty()) key += " " + part;
  return key;
}

}  // namespace intarsia
