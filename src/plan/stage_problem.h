// How nodes are split into stages of a pipeline: what the nodes and the devices are, and what a device's load
// is.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

constexpr double cannot_run = std::numeric_limits<double>::infinity();

/// Devices that are alike, as far as nodes take the same time on each.
struct StageDevices {
  std::string name;            // "acc"
  uint32_t count = 1;          // each holds one stage at most
  double memory = cannot_run;  // bytes of each; infinity: no limit
  bool pays_transfers = true;  // false: its memory is what the others copy to and from
};

struct StageNode {
  std::vector<double> time;  // of a frame, by kind of device; infinity: it cannot run there
  double bytes = 0;          // that stay in the memory of its device
};

/// What a node makes. A device pays for it once if the node is there and any consumer is not, and once if a
/// consumer is there and the node is not.
struct StageValue {
  uint32_t producer = 0;
  std::vector<uint32_t> consumers;
  double transfer = 0;  // time of a frame
};

/// Times in any one unit. The graph has no cycle.
struct StageProblem {
  std::vector<StageDevices> devices;  // by kind
  std::vector<StageNode> nodes;
  std::vector<StageValue> values;
  std::vector<std::vector<uint32_t>> together;  // nodes of one stage
};

/// Stages in an order in which values only flow forward; so each stage is convex.
struct StageSplit {
  struct Stage {
    uint32_t kind = 0;            // of its device
    std::vector<uint32_t> nodes;  // ascending
    double load = 0;              // time of a frame
  };
  std::vector<Stage> stages;
  double max_load = cannot_run;  // of a stage; infinity: no split was found
  double lower_bound = 0;        // no split has less
};

/// Error: a kind has no devices, a node runs nowhere, numbers of nodes are out of range, times are negative,
/// or there is a cycle.
Status verify_stage_problem(const StageProblem& problem);

/// Of the nodes on one device of the kind; infinity: a node cannot run there, or they need too much memory.
double stage_load(const StageProblem& problem, uint32_t kind, const std::vector<uint32_t>& nodes);

}  // namespace intarsia
