#include "plan/choose/plan_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/bytes.h"
#include "base/device_name.h"
#include "base/files/output_file.h"
#include "base/json_values.h"

namespace intarsia {
namespace {

using Json = nlohmann::ordered_json;

constexpr int plan_version = 1;
constexpr const char* version_key = "intarsia_plan";

Result<std::vector<std::string>> read_texts(const Json& object, const char* key, const std::string& where) {
  const auto list = object.find(key);
  std::vector<std::string> texts;
  const bool is_list = list != object.end() && list->is_array() && !list->empty();
  if (!is_list || !std::ranges::all_of(*list, [](const Json& one) { return one.is_string(); }))
    return fail("{}: want a list \"{}\" of texts, with one at least", where, key);
  for (const Json& one : *list) texts.push_back(one.get<std::string>());
  return texts;
}

Result<std::vector<SavedStage>> read_stages(const Json& function, const std::string& where) {
  std::vector<SavedStage> stages;
  const auto list = function.find("stages");
  if (list == function.end()) return stages;
  if (!list->is_array()) return fail("{}, \"stages\": want a list", where);
  for (const Json& json : *list) {
    const std::string here = fmt::format("{}, stage {}", where, stages.size());
    TRY(check_keys(json, {"slot", "executors", "nodes"}, here));
    const auto slot = json.find("slot");
    if (slot == json.end() || !slot->is_string()) return fail("{}: want a text \"slot\"", here);
    stages.push_back({slot->get<std::string>(), TRY(read_texts(json, "executors", here)),
                      TRY(read_texts(json, "nodes", here))});
  }
  return stages;
}

Result<SavedPlan> read_function(const Json& json, const std::string& where) {
  TRY(check_keys(json, {"measured_ms", "shapes", "nodes", "stages", "order"}, where));
  SavedPlan plan;
  if (const auto time = json.find("measured_ms"); time != json.end() && !time->is_null()) {
    constexpr double most_ms = 1e9;
    if (!time->is_number() || !(time->get<double>() > 0 && time->get<double>() < most_ms))
      return fail("{}, \"measured_ms\": want a time above 0, or null", where);
    plan.measured = std::max(std::llround(time->get<double>() * 1e6), 1LL);
  }
  const auto nodes = json.find("nodes");
  if (nodes == json.end() || !nodes->is_object()) return fail("{}: want an object \"nodes\"", where);
  for (const auto& [name, target] : nodes->items()) {
    if (!target.is_string()) return fail("{}, node '{}': want a target, as in \"halide@cpu\"", where, name);
    plan.targets.emplace_back(name, target.get<std::string>());
  }
  plan.stages = TRY(read_stages(json, where));
  if (json.contains("shapes")) plan.shapes = TRY(read_plan_shapes(json["shapes"], where));
  if (json.contains("order")) plan.order = TRY(read_texts(json, "order", where));
  return plan;
}

Result<std::map<std::string, SavedPlan>> read_plan(const Json& json) {
  TRY(check_keys(json, {version_key, "functions"}, "the file"));
  TRY(check_version(json, version_key, plan_version));
  const auto functions = json.find("functions");
  if (functions == json.end() || !functions->is_object()) return fail("want an object \"functions\"");
  std::map<std::string, SavedPlan> plans;
  for (const auto& [name, function] : functions->items())
    plans[name] = TRY(read_function(function, fmt::format("function '{}'", name)));
  return plans;
}

std::string names_of(const std::vector<PlacementTarget>& targets, const Graph& graph,
                     std::optional<NodeId> node) {
  std::string names;
  for (const PlacementTarget& target : targets) {
    if (node && !target.backend->supports(graph, *node, target.device).yes) continue;
    names += (names.empty() ? "" : ", ") + target.name;
  }
  return names.empty() ? "none" : names;
}

Result<uint32_t> find_target(const Graph& graph, const std::vector<PlacementTarget>& targets, NodeId node,
                             const std::string& name) {
  const auto target = std::ranges::find(targets, name, &PlacementTarget::name);
  if (target == targets.end())
    return fail("node '{}' on {}: no such target; there are {}", graph.node(node).name, name,
                names_of(targets, graph, std::nullopt));
  const Support support = target->backend->supports(graph, node, target->device);
  if (!support.yes)
    return fail("node '{}' ({}) cannot run on {}: {}; those that can: {}", graph.node(node).name,
                graph.node(node).op, name, support.because, names_of(targets, graph, node));
  return static_cast<uint32_t>(target - targets.begin());
}

/// Returns the stage of each node.
Result<std::vector<uint32_t>> find_stages(const std::vector<std::string>& keys, const SavedPlan& plan) {
  const std::set<std::string> known(keys.begin(), keys.end());
  std::map<std::string, uint32_t> stage_of;
  for (uint32_t stage = 0; stage < plan.stages.size(); ++stage) {
    for (const std::string& node : plan.stages[stage].nodes) {
      if (!stage_of.emplace(node, stage).second)
        return fail("node '{}' is in two stages, or twice in one", node);
      if (!known.contains(node)) return fail("stage {}: the model has no node '{}'", stage, node);
    }
  }
  std::vector<uint32_t> stages;
  for (const std::string& key : keys) {
    if (!stage_of.contains(key))
      return fail("node '{}' is in none of the {} stages", key, plan.stages.size());
    stages.push_back(stage_of[key]);
  }
  return stages;
}

/// Returns the place of each node in the order.
Result<std::vector<uint32_t>> find_ranks(const Graph& graph, const std::vector<std::string>& keys,
                                         const SavedPlan& plan) {
  std::map<std::string, uint32_t> place;
  for (const std::string& node : plan.order)
    if (!place.emplace(node, static_cast<uint32_t>(place.size())).second)
      return fail("node '{}' is in the order twice", node);
  std::vector<uint32_t> ranks;
  for (const std::string& key : keys) {
    if (!place.contains(key)) return fail("node '{}' is not in the order", key);
    ranks.push_back(place[key]);
  }
  if (place.size() > keys.size()) return fail("the order has nodes that the model has not");
  for (size_t i = 0; i < keys.size(); ++i)
    for (ValueId read : values_read(graph.nodes[i])) {
      const NodeId maker = graph.value(read).producer;
      if (maker != no_node && ranks[index(maker)] > ranks[i])
        return fail("in the order node '{}' is before '{}', which it reads", keys[i], keys[index(maker)]);
    }
  return ranks;
}

}  // namespace

std::vector<std::string> node_keys(const Graph& graph) {
  std::map<std::string, int> seen;
  std::set<std::string> used;
  std::vector<std::string> keys;
  for (const Node& node : graph.nodes) {
    std::string key = node.name;
    for (int& count = seen[node.name]; key.empty() || !used.insert(key).second;) {
      ++count;
      key = count == 1 && !node.name.empty() ? node.name : fmt::format("{}#{}", node.name, count);
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

SavedPlan save_plan(const PlanningProblem& problem, const Placement& placement,
                    std::optional<int64_t> measured, const std::vector<ChosenStage>& stages) {
  SavedPlan plan{measured, {}};
  const std::vector<std::string> keys = node_keys(problem.graph);
  for (const ChosenStage& stage : stages)
    plan.stages.push_back({problem.slots[stage.slot].name, stage.executors, {}});
  for (size_t i = 0; i < keys.size(); ++i) {
    plan.targets.emplace_back(keys[i], problem.targets[placement.nodes[i].target].name);
    if (!stages.empty()) plan.stages[placement.nodes[i].stage].nodes.push_back(keys[i]);
  }
  if (placement.is_scheduled) {
    std::vector<size_t> nodes(keys.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    std::ranges::stable_sort(nodes, {}, [&](size_t node) { return placement.nodes[node].rank; });
    for (size_t node : nodes) plan.order.push_back(keys[node]);
  }
  return plan;
}

std::string print_plans(const std::map<std::string, SavedPlan>& functions) {
  Json json{{version_key, plan_version}, {"functions", Json::object()}};
  for (const auto& [name, plan] : functions) {
    Json& function = json["functions"][name];
    function["measured_ms"] = plan.measured ? Json(static_cast<double>(*plan.measured) / 1e6) : Json(nullptr);
    if (!plan.shapes.empty()) function["shapes"] = print_plan_shapes(plan.shapes);
    function["nodes"] = Json::object();
    for (const auto& [node, target] : plan.targets) function["nodes"][node] = target;
    for (const SavedStage& stage : plan.stages)
      function["stages"].push_back(
          {{"slot", stage.slot}, {"executors", stage.executors}, {"nodes", stage.nodes}});
    if (!plan.order.empty()) function["order"] = plan.order;
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::map<std::string, SavedPlan>> parse_plans(std::string_view json) {
  const auto parse = [&]() -> Result<std::map<std::string, SavedPlan>> {
    return read_plan(TRY(parse_json(json)));
  };
  return with_kind(ErrorKind::corrupt, parse());
}

Status write_plan_file(const std::string& path, const std::map<std::string, SavedPlan>& functions) {
  return write_whole(path, print_plans(functions));
}

Result<std::map<std::string, SavedPlan>> read_plan_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(ErrorKind::not_found, "plan '{}': cannot be read", path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return with_context(parse_plans(text), "plan '{}'", path);
}

Result<Placement> place_by_plan(const Graph& graph, const std::vector<PlacementTarget>& targets,
                                const SavedPlan& plan) {
  const std::vector<std::string> keys = node_keys(graph);
  const std::map<std::string, std::string> target_of(plan.targets.begin(), plan.targets.end());
  Placement placement(std::vector<uint32_t>(keys.size(), no_target));
  for (uint32_t i = 0; i < keys.size(); ++i) {
    const auto at = target_of.find(keys[i]);
    if (at == target_of.end()) return fail("it has no node '{}': it is of another model", keys[i]);
    placement.nodes[i].target = TRY(find_target(graph, targets, NodeId{i}, at->second));
    placement.nodes[i].reason = "in the plan";
  }
  const std::set<std::string> known(keys.begin(), keys.end());
  for (const auto& [name, target] : target_of) {
    if (!known.contains(name)) return fail("the model has no node '{}': it is of another model", name);
  }
  if (!plan.stages.empty()) placement.divide(TRY(find_stages(keys, plan)));
  if (!plan.order.empty()) placement.schedule(TRY(find_ranks(graph, keys, plan)));
  return placement;
}

Result<std::vector<ChosenStage>> stages_of_plan(const std::vector<DeviceSlot>& slots, const SavedPlan& plan) {
  std::vector<ChosenStage> stages;
  for (const SavedStage& saved : plan.stages) {
    const auto slot = std::ranges::find(slots, saved.slot, &DeviceSlot::name);
    if (slot == slots.end()) {
      std::string names;
      for (const DeviceSlot& one : slots) names += (names.empty() ? "" : ", ") + one.name;
      return fail("stage {}: no slot '{}'; -d has: {}", stages.size(), saved.slot, names);
    }
    for (const std::string& device : saved.executors) {
      if (device_kind(device) != slot->kind)
        return fail("stage {}: executor '{}' is not a {}, as slot '{}' is", stages.size(), device, slot->kind,
                    saved.slot);
    }
    stages.push_back({static_cast<uint32_t>(slot - slots.begin()), saved.executors});
  }
  return stages;
}

}  // namespace intarsia
