// Splits a public placement problem into stages, as `compile --objective throughput` does: the format of
// github.com/msr-fiddle/dnn-partitioning.
//
//     build/bin/plan_workload FILE.json [--json]
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "plan/split_stages.h"

namespace intarsia {
namespace {

using Json = nlohmann::json;

/// Kinds of devices in the problem, in this order, of which a file may lack one.
constexpr const char* accelerators = "acc";
constexpr const char* cores = "cpu";

struct Workload {
  StageProblem problem;
  std::vector<int64_t> ids;  // of the nodes, in the file
};

/// How many devices of a kind there are.
uint32_t read_count(const Json& file, const char* key) {
  constexpr int64_t most = 1000;
  const auto count = file.at(key).get<int64_t>();
  if (count < 0 || count > most)
    throw std::runtime_error(fmt::format("{} is {}, want 0 to {}", key, count, most));
  return static_cast<uint32_t>(count);
}

double number(const Json& object, const char* key) { return object.at(key).get<double>(); }

/// What a node takes on each kind of device there is.
StageNode read_node(const Json& from, const StageProblem& problem) {
  StageNode node;
  for (const StageDevices& devices : problem.devices) {
    const bool is_core = devices.name == cores;
    // Both true and 1 are in use.
    const bool can_run =
        is_core || from.at("supportedOnFpga").dump() == "true" || from.at("supportedOnFpga").dump() == "1";
    node.time.push_back(can_run ? number(from, is_core ? "cpuLatency" : "fpgaLatency") : cannot_run);
  }
  node.bytes = number(from, "size");
  return node;
}

Workload read_workload(const Json& file) {
  Workload workload;
  StageProblem& problem = workload.problem;
  if (const uint32_t count = read_count(file, "maxFPGAs"); count > 0)
    problem.devices.push_back({accelerators, count, number(file, "maxSizePerFPGA"), true});
  if (const uint32_t count = read_count(file, "maxCPUs"); count > 0)
    problem.devices.push_back({cores, count, cannot_run, false});
  std::map<int64_t, uint32_t> number_of;
  std::map<std::string, std::vector<uint32_t>> of_color;
  for (const Json& from : file.at("nodes")) {
    const auto node = static_cast<uint32_t>(problem.nodes.size());
    workload.ids.push_back(from.at("id"));
    if (!number_of.emplace(workload.ids.back(), node).second)
      throw std::runtime_error(fmt::format("two nodes have the id {}", workload.ids.back()));
    problem.nodes.push_back(read_node(from, problem));
    if (from.contains("colorClass") && !from["colorClass"].is_null())
      of_color[from["colorClass"].dump()].push_back(node);
  }
  const auto find = [&](const Json& id) {
    const auto at = number_of.find(id.get<int64_t>());
    if (at == number_of.end())
      throw std::runtime_error(fmt::format("an edge is of node {}, which is not there", id.dump()));
    return at->second;
  };
  std::map<uint32_t, StageValue> values;
  for (const Json& edge : file.at("edges")) {
    const uint32_t source = find(edge.at("sourceId")), target = find(edge.at("destId"));
    StageValue& value = values[source];
    value.producer = source;
    value.consumers.push_back(target);
    value.transfer = std::max(value.transfer, number(edge, "cost"));
  }
  for (auto& [source, value] : values) problem.values.push_back(std::move(value));
  for (auto& [color, nodes] : of_color) problem.together.push_back(std::move(nodes));
  return workload;
}

Json describe(const Workload& workload, const StageSplit& split, double seconds) {
  Json assignment = Json::object();
  std::map<uint32_t, uint32_t> used;
  for (const StageSplit::Stage& stage : split.stages) {
    const std::string device = workload.problem.devices[stage.kind].name + std::to_string(used[stage.kind]++);
    for (uint32_t node : stage.nodes) assignment[std::to_string(workload.ids[node])] = device;
  }
  return {{"max_load", split.max_load},
          {"lower_bound", split.lower_bound},
          {"seconds", seconds},
          {"assignment", std::move(assignment)}};
}

void print_stages(const Workload& workload, const StageSplit& split, double seconds) {
  std::map<uint32_t, uint32_t> used;
  for (const StageSplit::Stage& stage : split.stages)
    std::printf("%s%u: %zu nodes, load %.4f\n", workload.problem.devices[stage.kind].name.c_str(),
                used[stage.kind]++, stage.nodes.size(), stage.load);
  std::printf("largest load %.4f, no split has less than %.4f; %.2f s\n", split.max_load, split.lower_bound,
              seconds);
}

int run(const std::string& path, bool as_json) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open it");
  const Workload workload = read_workload(Json::parse(file));
  if (const Status sound = verify_stage_problem(workload.problem); !sound)
    throw std::runtime_error(sound.error().message);
  const auto begin = std::chrono::steady_clock::now();
  const StageSplit split = split_stages(workload.problem);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (split.stages.empty() && !workload.problem.nodes.empty())
    throw std::runtime_error("no split was found that fits the devices and their memory");
  if (as_json)
    std::puts(describe(workload, split, seconds).dump(1).c_str());
  else
    print_stages(workload, split, seconds);
  return 0;
}

}  // namespace
}  // namespace intarsia

int main(int count, char** words) {
  const bool as_json = count == 3 && std::string(words[2]) == "--json";
  if (count != 2 && !as_json) {
    std::fputs("usage: plan_workload FILE.json [--json]\n", stderr);
    return 2;
  }
  try {
    return intarsia::run(words[1], as_json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s: %s\n", words[1], error.what());
    return 1;
  }
}
