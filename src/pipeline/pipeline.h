// Frames through stages that work at the same time, each in its threads, with bounded queues between them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/frame.h"
#include "pipeline/pipeline_graph.h"

namespace intarsia {

struct PipelineOptions {
  size_t depth = 2;        // of each queue: frames that may wait before a stage, or to be popped
  int64_t timeout_ns = 0;  // of a frame, from its push; 0: none
  /// Called by the stages' threads, one at a time, and not after cancel() has returned.
  std::function<void(const FrameEvent&)> trace = {};
  bool traces_steps = false;  // also what sessions do within a frame, which then are traced
};

struct StageStatistics {
  std::string name;
  uint32_t replicas = 1;
  uint64_t frames = 0;     // that it ran; those that came with an error only pass
  uint64_t errors = 0;     // of these
  int64_t busy_ns = 0;     // running, of all replicas
  int64_t waiting_ns = 0;  // for frames
  int64_t blocked_ns = 0;  // for room in a queue behind it, or for an earlier frame of another replica
  uint32_t running = 0;    // replicas that have a frame now
  size_t queued = 0;       // now
  size_t most_queued = 0;
};

enum class PopState { frame, none, ended };

/// A frame that has left, in the order of the pushes.
struct PoppedFrame {
  PopState state = PopState::none;
  uint64_t id = 0;
  Status status;                       // its error
  int64_t pushed_ns = 0, done_ns = 0;  // of a steady clock
  std::vector<FrameValue> outputs;     // as routes().outputs; none after an error
};

/// All calls may come from any threads. Every frame that was pushed is popped once, in order, unless the
/// pipeline is cancelled.
class Pipeline {
 public:
  /// Takes the stages. Error, which leaves them: as find_routes, or a queue of no frame. Throws
  /// std::system_error when threads cannot start.
  static Result<std::unique_ptr<Pipeline>> start(PipelineGraph& graph, PipelineOptions options);
  /// Cancels. Stages that run a frame right now are left to their threads, which free the stages when they
  /// return.
  ~Pipeline();

  const PipelineRoutes& routes() const;

  /// Waits for room, at most `wait_ns` (negative: without end). `inputs` in any order; those without an owner
  /// are copied before this returns. The frame's number, counted from 0; nothing: there was no room. Error:
  /// an input is missing or unknown, or the pipeline is finished or cancelled.
  Result<std::optional<uint64_t>> push(std::span<const NamedTensor> inputs, int64_t wait_ns = -1);
  /// The next frame; waits for it at most `wait_ns` (negative: without end). With a time-out a frame that is
  /// late comes with an error of kind timed_out, and those after it wait until the stage that has it returns.
  PoppedFrame pop(int64_t wait_ns = -1);
  /// No frame comes any more; those inside go on, and after the last pop says `ended`.
  void finish();
  /// Frames inside are dropped: pop says `ended`, push fails. Returns at once; a stage that runs goes on to
  /// the end of its frame.
  void cancel();
  std::vector<StageStatistics> statistics() const;

 private:
  explicit Pipeline(std::shared_ptr<class PipelineState> state);
  std::shared_ptr<PipelineState> state_;  // the workers have it, too, and may outlive this
  std::vector<struct PipelineWorker> workers_;
};

}  // namespace intarsia
