// Which stages a pipeline has, and which value goes where.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/stage.h"

namespace intarsia {

/// A stage's port; with an empty `stage` an input or output of the pipeline itself.
struct PortName {
  std::string stage, port;
};

/// As its user says it.
struct PipelineGraph {
  struct NamedStage {
    std::string name;
    std::vector<std::unique_ptr<Stage>> replicas;  // of equal ports: each runs some of the frames
  };
  std::vector<NamedStage> stages;
  std::vector<std::pair<PortName, PortName>> connections;  // from, to

  /// Connects what is not connected: each input to the output of its name of the last earlier stage that has
  /// one, else to the pipeline's input of its name. Outputs that nobody reads become the pipeline's outputs.
  /// Stages are in an order in which values flow forward.
  void connect_by_name();
};

/// The same by numbers, checked. A value is an input of the pipeline or an output of a stage; values that are
/// read by several stages, or skip some, are one.
struct PipelineRoutes {
  struct StageRoute {
    std::vector<uint32_t> inputs, outputs;       // values, as the ports
    std::vector<uint32_t> reads;                 // its inputs, each value once
    std::vector<uint32_t> producers, consumers;  // other stages, each once
  };
  struct Output {
    std::string name;
    uint32_t value = 0;
  };
  std::vector<StageRoute> stages;
  std::vector<std::string> inputs;    // the first values are these
  std::vector<Output> outputs;        // of the pipeline
  std::vector<StagePort> ports;       // of each value: its type, as far as it is known
  std::vector<uint32_t> readers;      // of each value: how many stages
  std::vector<bool> is_output;        // of each value: whether a frame keeps it to its end
  std::vector<uint32_t> first, last;  // stages without producers, and without consumers
};

/// Error: no stage, a name twice or unknown, replicas with unlike ports, an input of a stage or output of the
/// pipeline that is connected twice or never, ports whose types differ, or a cycle.
Result<PipelineRoutes> find_routes(const PipelineGraph& graph);

}  // namespace intarsia
