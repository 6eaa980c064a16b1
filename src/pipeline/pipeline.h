// Pipelines of concurrent stages, each in its own threads, with bounded queues of frames between them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pipeline/frame.h"
#include "pipeline/pipeline_graph.h"
#include "pipeline/replica_service.h"
#include "pipeline/time_histogram.h"

namespace intarsia {

struct PipelineOptions {
  size_t depth = 2;        // frames that may wait in each queue, before a stage or to be popped
  int64_t timeout_ns = 0;  // timeout of a frame, counted from its push; 0: none
  QueuePolicy queue = QueuePolicy::block;  // policy of the last queue and of stages that set none
  int64_t deadline_ns = 0;                 // deadline of frames that set none; 0: none
  /// Trace that the stages' threads call, one at a time, and not after cancel() has returned.
  std::function<void(const FrameEvent&)> trace = {};
  bool traces_steps = false;  // whether sessions are traced, too, and report their steps within a frame
};

struct StageStatistics {
  std::string name;
  uint32_t replicas = 1;
  uint64_t frames = 0;     // frames that it ran; those that come with an error only pass
  uint64_t errors = 0;     // frames among these that failed
  int64_t busy_ns = 0;     // time that all replicas together ran
  int64_t waiting_ns = 0;  // time waiting for frames
  int64_t blocked_ns = 0;  // time waiting for room behind it, or for another replica's earlier frame
  uint32_t running = 0;    // replicas that have a frame at the moment
  size_t queued = 0;       // frames in its queue at the moment
  size_t most_queued = 0;
  uint64_t dropped = 0;  // frames dropped before it, by a full queue or for their deadline
  TimeHistogram run;     // times of its runs
  TimeHistogram queue;   // times that the frames it took waited before it
};

/// Statistics of a pipeline's frames.
struct FrameStatistics {
  uint64_t pushed = 0;
  uint64_t done = 0, errors = 0, dropped = 0, timed_out = 0;  // popped frames; done: without an error
  TimeHistogram latency;  // times from push to end of the last stage, of frames without an error
};

enum class PopState { frame, none, ended };

/// Frame that has left the pipeline; frames leave in the order of their pushes.
struct PoppedFrame {
  PopState state = PopState::none;
  uint64_t id = 0;
  Status status;                       // error of the frame
  int64_t pushed_ns = 0, done_ns = 0;  // times of a steady clock
  std::vector<FrameValue> outputs;     // ordered as routes().outputs; empty after an error
  FrameOptions given;                  // options given to push()
};

/// Running pipeline; thread-safe. Unless it is cancelled, every pushed frame is popped once, in order.
class Pipeline {
 public:
  /// Starts a pipeline of the graph's stages, which it takes. Throws std::system_error when threads cannot
  /// start. Errors, which leave the stages: as find_routes(), a queue of depth 0, or a negative time.
  static Result<std::unique_ptr<Pipeline>> start(PipelineGraph& graph, PipelineOptions options);
  /// Cancels the pipeline. Stages that are running a frame are left to their threads, which free the stages
  /// when they return.
  ~Pipeline();

  const PipelineRoutes& routes() const;

  /// Pushes a frame; waits for room at most `wait_ns` (negative: forever). `inputs` may be in any order;
  /// those without an owner are copied before this returns. Returns the frame's number, counted from 0;
  /// nullopt if there was no room. Errors: an input is missing or unknown, or the pipeline was finished
  /// or cancelled.
  Result<std::optional<uint64_t>> push(std::span<const NamedTensor> inputs, int64_t wait_ns = -1,
                                       const FrameOptions& options = {});
  /// Pops the next frame; waits for it at most `wait_ns` (negative: forever). With a timeout, a late frame
  /// comes with an error of kind timed_out, and those after it wait until the stage that has it returns.
  PoppedFrame pop(int64_t wait_ns = -1);
  /// Ends the input: later pushes fail, frames inside go on, and pop() returns `ended` after the last one.
  void finish();
  /// Drops the frames inside: pop() returns `ended`, push() fails. Returns at once; a running stage goes on
  /// to the end of its frame.
  void cancel();
  std::vector<StageStatistics> statistics() const;
  /// Returns the statistics of the replicas of a stage, given by number. Empty in a child of fork().
  std::vector<ReplicaStatistics> replicas(size_t stage) const;
  FrameStatistics frame_statistics() const;

 private:
  explicit Pipeline(std::shared_ptr<class PipelineState> state);
  std::shared_ptr<PipelineState> state_;  // shared with the workers, which may outlive this
  std::vector<struct PipelineWorker> workers_;
};

}  // namespace intarsia
