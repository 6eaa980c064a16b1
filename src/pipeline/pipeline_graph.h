// Graph of a pipeline: its stages, and which value goes where.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/stage.h"

namespace intarsia {

/// Port of a stage or, with an empty `stage`, input or output of the pipeline itself.
struct PortName {
  std::string stage, port;
};

/// Policy for a frame that comes to a full queue.
enum class QueuePolicy : uint8_t {
  block,        // the frame waits for room
  drop_oldest,  // drops the frame that has waited longest
  latest,       // drops the oldest, in a queue of one
};

/// Options of a stage: how frames come to it, and what it takes and gives.
struct StageOptions {
  std::optional<QueuePolicy> queue = {};  // policy of the queue before it; nullopt: the pipeline's
  /// Outputs that are zero or more items, one for each row (axis 0, of size 1 in an item). Stages that read
  /// them run once for each item, and so do those that read what these give, until one gathers.
  std::vector<std::string> scatter = {};
  bool gathers = false;  // whether its inputs that are items come as one, joined along axis 0
};

/// Pipeline as its user describes it.
struct PipelineGraph {
  struct NamedStage {
    std::string name;
    std::vector<std::unique_ptr<Stage>> replicas;  // stages with equal ports; each runs some of the frames
    StageOptions options = {};
  };
  std::vector<NamedStage> stages;
  std::vector<std::pair<PortName, PortName>> connections;  // from, to

  /// Connects open ports: each input to the output of its name of the last earlier stage that has one, else
  /// to the pipeline's input of its name. Outputs that nobody reads become the pipeline's outputs. Stages
  /// must be in an order in which values flow forward.
  void connect_by_name();
};

/// Checked graph of a pipeline, by numbers. A value is an input of the pipeline or an output of a stage; it
/// is one value even if several stages read it, or it skips some.
struct PipelineRoutes {
  static constexpr uint32_t none = ~0u;

  struct StageRoute {
    std::vector<uint32_t> inputs, outputs;  // values, in the order of the ports
    std::vector<bool> scatters;             // indexed as the outputs
    bool gathers = false;
    uint32_t items_of = none;                    // stage for whose items it runs; none: once a frame
    std::vector<uint32_t> reads;                 // values of its inputs, each once
    std::vector<uint32_t> producers, consumers;  // other stages, each once
  };
  struct Output {
    std::string name;
    uint32_t value = 0;
    StagePort port = {};  // type of all its items together
  };
  std::vector<StageRoute> stages;
  std::vector<std::string> inputs;  // names of the first values
  std::vector<Output> outputs;      // outputs of the pipeline
  std::vector<StagePort> ports;     // types as far as known, by value; of an item's value: one item's type
  std::vector<uint32_t> items_of;   // stage for each of whose items there is one, by value; none: one a frame
  std::vector<uint32_t> readers;    // number of stages that read it, by value
  std::vector<bool> is_output;      // whether a frame keeps it to its end, by value
  std::vector<uint32_t> first, last;  // stages without producers, and without consumers
};

/// Returns the type of all items of such a type, joined.
StagePort gathered(StagePort item);

/// Checks the graph and numbers its values. Errors: no stage, a name twice or unknown, replicas with unlike
/// ports, an input of a stage that is connected twice or never, an output of the pipeline that is connected
/// twice, ports whose types differ, a cycle, items of unlike stages that meet, items of items, or a stage
/// that gathers no items.
Result<PipelineRoutes> find_routes(const PipelineGraph& graph);

}  // namespace intarsia
