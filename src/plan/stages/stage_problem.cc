#include "plan/stages/stage_problem.h"

#include <algorithm>

#include "plan/stages/stage_graph.h"

namespace intarsia {
namespace {

bool is_amount(double number) { return number >= 0; }  // false for NaN

Status verify_devices(const StageProblem& problem) {
  if (problem.devices.empty() || problem.teams.empty()) return fail("there is no device");
  for (const StageTeam& team : problem.teams) {
    if (team.count == 0 || team.members.empty()) return fail("there is a team without devices");
    for (uint32_t member : team.members)
      if (member >= problem.devices.size()) return fail("a team has a device that is not there");
  }
  for (const StageDevice& device : problem.devices)
    for (double time : {device.in.latency, device.in.per_byte, device.out.latency, device.out.per_byte})
      if (!is_amount(time))
        return fail("device '{}': a copy takes a time that is negative or no number", device.name);
  return {};
}

Status verify_nodes(const StageProblem& problem) {
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const StageNode& node = problem.nodes[i];
    if (node.time.size() != problem.devices.size())
      return fail("node {} has {} times, want one for each of {} kinds of devices", i, node.time.size(),
                  problem.devices.size());
    if (!std::ranges::all_of(node.time, is_amount) || !is_amount(node.bytes))
      return fail("node {} has a time or a size that is negative or no number", i);
    if (std::ranges::min(node.time) == cannot_run) return fail("node {} can run on no kind of device", i);
  }
  return {};
}

/// Adds up the nodes of a stage, and the values between them and the others.
StageWork add_up(const StageProblem& problem, const std::vector<uint32_t>& nodes) {
  StageWork work(problem.devices.size());
  std::vector<char> is_here(problem.nodes.size());
  for (uint32_t node : nodes) {
    is_here[node] = 1;
    work.add(problem.nodes[node]);
  }
  for (const StageValue& value : problem.values) {
    const auto is_in = [&](uint32_t node) { return is_here[node] != 0; };
    const bool is_made_here = value.producer != no_stage_node && is_in(value.producer);
    if (!is_made_here && std::ranges::any_of(value.consumers, is_in)) work.received += value.traffic();
    if (is_made_here && (value.is_output || !std::ranges::all_of(value.consumers, is_in)))
      work.sent += value.traffic();
  }
  return work;
}

double load_of(const StageProblem& problem, const StageTeam& team, const StageWork& work,
               const StageTraffic& sent) {
  double rate = 0;
  for (uint32_t member : team.members) {
    const StageDevice& device = problem.devices[member];
    if (work.refused[member] > 0 || work.bytes > device.memory) return cannot_run;
    rate += 1 / device_load(device, work.run[member], work.received, sent);
  }
  return 1 / rate;
}

}  // namespace

StageTraffic& StageTraffic::operator+=(const StageTraffic& other) {
  values += other.values, bytes += other.bytes;
  return *this;
}

StageTraffic& StageTraffic::operator-=(const StageTraffic& other) {
  values -= other.values, bytes -= other.bytes;
  return *this;
}

void StageWork::add(const StageNode& node) {
  bytes += node.bytes;
  for (size_t kind = 0; kind < run.size(); ++kind) {
    if (node.time[kind] == cannot_run)
      ++refused[kind];
    else
      run[kind] += node.time[kind];
  }
}

Status verify_stage_problem(const StageProblem& problem) {
  TRY(verify_devices(problem));
  TRY(verify_nodes(problem));
  const auto is_node = [&](uint32_t node) { return node < problem.nodes.size(); };
  for (const StageValue& value : problem.values) {
    if ((value.producer != no_stage_node && !is_node(value.producer)) ||
        !std::ranges::all_of(value.consumers, is_node))
      return fail("a value is of a node that is not there");
    if (!is_amount(value.bytes)) return fail("a value has a size that is negative or no number");
  }
  for (const auto& group : problem.together)
    if (!std::ranges::all_of(group, is_node)) return fail("a node that is not there is to be with others");
  if (!order_nodes(problem)) return fail("the nodes depend on each other in a cycle");
  return {};
}

double device_load(const StageDevice& device, double run, const StageTraffic& received,
                   const StageTraffic& sent) {
  const double copies = device.in.time(received) + device.out.time(sent);
  return device.copies_while_running ? std::max(run, copies) : run + copies;
}

double team_load(const StageProblem& problem, const StageTeam& team, const StageWork& work) {
  return load_of(problem, team, work, work.sent);
}

double least_team_load(const StageProblem& problem, const StageTeam& team, const StageWork& work) {
  return load_of(problem, team, work, {});
}

double stage_load(const StageProblem& problem, uint32_t team, const std::vector<uint32_t>& nodes) {
  return team_load(problem, problem.teams[team], add_up(problem, nodes));
}

}  // namespace intarsia
