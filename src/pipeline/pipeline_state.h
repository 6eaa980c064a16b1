// The queues of a pipeline, and what its threads do with them.
#pragma once

#include <deque>
#include <map>
#include <mutex>

#include "base/fork_count.h"
#include "pipeline/buffer_pool.h"
#include "pipeline/pipeline.h"
#include "pipeline/waking_lock.h"

namespace intarsia {

using FramePtr = std::shared_ptr<Frame>;

/// Shared by the pipeline and its workers: whoever lets go of it last frees the stages.
class PipelineState {
 public:
  PipelineState(std::vector<PipelineGraph::NamedStage> stages, PipelineRoutes routes,
                PipelineOptions options);

  const PipelineRoutes& routes() const { return routes_; }
  const std::vector<PipelineGraph::NamedStage>& stages() const { return stages_; }
  /// In a child of fork() there are no workers, and the lock may be held for ever.
  bool is_of_parent() const { return forks_ != fork_count(); }

  /// With its inputs, copied where they have no owner; not yet in the pipeline.
  Result<FramePtr> make_frame(std::span<const NamedTensor> inputs);
  /// False: there is none until then, a time of the steady clock (INT64_MAX: never).
  Result<bool> wait_for_room(int64_t until);
  Result<bool> insert(const FramePtr& frame, int64_t until);
  PoppedFrame pop(int64_t until);
  void finish();
  void cancel();
  std::vector<StageStatistics> statistics();

  /// What a worker does until the pipeline ends.
  void work(uint32_t stage, uint32_t replica);
  bool is_running(uint32_t stage, uint32_t replica);

 private:
  /// Frames that wait for a stage, or at the end to be popped.
  struct Lane {
    std::deque<FramePtr> frames;
    WakingEvent arrival, room;
    uint64_t next = 0;                   // frame that the stage hands on
    std::map<uint64_t, FramePtr> early;  // frames that the stage is done with before their turn
    WakingEvent turn;                    // has come for another frame
    std::vector<bool> running;           // replicas with a frame
    StageStatistics statistics;
  };

  Status check_open() const;
  Result<bool> wait_for_room(WakingLock& lock, int64_t until);
  FramePtr take(WakingLock& lock, uint32_t stage);
  Status run_frame(Frame& frame, uint32_t stage, uint32_t replica);
  Status run_stage(Frame& frame, uint32_t stage, uint32_t replica);
  Status make_output(uint32_t value, const StagePort& port, NamedTensor& output);
  void hand_on(WakingLock& lock, uint32_t stage, FramePtr frame);
  void hand_on_in_turn(WakingLock& lock, uint32_t stage, FramePtr frame);
  int64_t pass_to(WakingLock& lock, uint32_t lane, const FramePtr& frame);
  void drop_read_values(uint32_t stage, Frame& frame);
  void wake_all(WakingLock& lock);
  void trace(const FrameEvent& event);
  void trace_steps();
  Lane& end() { return *lanes_.back(); }

  const uint32_t forks_ = fork_count();
  const std::vector<PipelineGraph::NamedStage> stages_;
  const PipelineRoutes routes_;
  const PipelineOptions options_;
  std::vector<BufferPool> pools_;          // of values
  std::vector<uint32_t> waits_, readers_;  // of a new frame

  std::recursive_mutex trace_mutex_;  // a trace may cancel
  bool is_trace_over_ = false;
  mutable std::mutex mutex_;                  // of all below
  std::vector<std::unique_ptr<Lane>> lanes_;  // of the stages, then the end
  std::deque<FramePtr> inside_;               // pushed and not popped
  uint64_t next_id_ = 0;
  bool is_finished_ = false, is_cancelled_ = false;
};

}  // namespace intarsia
