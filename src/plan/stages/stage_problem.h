// Problem of splitting nodes into stages of a pipeline: the nodes, the devices, and the time a stage takes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

constexpr double cannot_run = std::numeric_limits<double>::infinity();
constexpr uint32_t no_stage_node = ~0U;

/// Values on their way between the host's memory and a device's.
struct StageTraffic {
  double values = 0, bytes = 0;
  StageTraffic& operator+=(const StageTraffic& other);
  StageTraffic& operator-=(const StageTraffic& other);
};

/// Time of a copy: per value and per byte.
struct StageLink {
  double latency = 0, per_byte = 0;
  double time(const StageTraffic& traffic) const {
    return traffic.values * latency + traffic.bytes * per_byte;
  }
  bool is_free() const { return latency == 0 && per_byte == 0; }
};

/// Kind of device. Values pass from stage to stage in the host's memory.
struct StageDevice {
  std::string name;                  // such as "acc"
  double memory = cannot_run;        // bytes; infinity if unlimited
  StageLink in = {}, out = {};       // free if its memory is the host's
  bool copies_while_running = true;  // values of other frames
};

/// Devices that share the frames of one stage: each frame goes to one that is free.
struct StageTeam {
  std::vector<uint32_t> members;  // kinds of devices; a kind may occur several times
  uint32_t count = 1;             // teams of this kind; each has at most one stage
};

struct StageNode {
  std::vector<double> time;  // time of a frame, by kind of device; infinity if it cannot run there
  double bytes = 0;          // bytes that stay in the memory of its device
};

/// Value that nodes exchange. A device pays for it once if it is made there and read elsewhere, and once if
/// it is read there and made elsewhere.
struct StageValue {
  uint32_t producer = no_stage_node;  // no_stage_node for an input of the model
  std::vector<uint32_t> consumers;
  double bytes = 0;
  bool is_output = false;  // whether it is an output of the model, read outside, too

  StageTraffic traffic() const { return {1, bytes}; }
};

/// Nodes to split and the teams to run them. Times are in any one unit. The graph has no cycle.
struct StageProblem {
  std::vector<StageDevice> devices;
  std::vector<StageTeam> teams;
  std::vector<StageNode> nodes;
  std::vector<StageValue> values;
  std::vector<std::vector<uint32_t>> together;  // groups of nodes that must share a stage
};

/// Stages in an order in which values flow forward only; so each stage is convex.
struct StageSplit {
  struct Stage {
    uint32_t team = 0;
    std::vector<uint32_t> nodes;  // ascending
    double load = 0;              // time between two frames
  };
  std::vector<Stage> stages;
  double max_load = cannot_run;  // largest load of a stage; infinity if no split was found
  double lower_bound = 0;        // lower bound on max_load of any split
};

/// Checks the problem. Errors: there are no devices or teams, a node runs nowhere, numbers are out of range,
/// times are negative, or there is a cycle.
Status verify_stage_problem(const StageProblem& problem);

/// Work of nodes that share a stage, for each kind of device.
struct StageWork {
  explicit StageWork(size_t devices) : run(devices), refused(devices) {}
  /// Adds the node without its values.
  void add(const StageNode& node);

  std::vector<double> run;        // time of the nodes that can run there, by kind of device
  std::vector<uint32_t> refused;  // number of the other nodes, by kind of device
  double bytes = 0;
  StageTraffic received, sent;
};

/// Returns the time between two frames of one device: it runs one frame after the other, and copies one after
/// the other, while it runs or else in between.
///   in 5, run 5, out 5:  10, or 15
double device_load(const StageDevice& device, double run, const StageTraffic& received,
                   const StageTraffic& sent);

/// Returns the time between two frames of a team: its members' rates add up. Infinity if a member cannot run
/// the work, or has too little memory.
///   4 and 5:  2.22
double team_load(const StageProblem& problem, const StageTeam& team, const StageWork& work);

/// Returns a lower bound on the load of stages that hold these nodes and others behind them: only what is
/// sent may become less.
double least_team_load(const StageProblem& problem, const StageTeam& team, const StageWork& work);

/// Returns the load of a stage with these nodes on a team of that kind.
double stage_load(const StageProblem& problem, uint32_t team, const std::vector<uint32_t>& nodes);

}  // namespace intarsia
