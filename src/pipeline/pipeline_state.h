// Queues of a pipeline, and the work of its threads on them.
#pragma once

#include <deque>
#include <map>
#include <mutex>

#include "base/threads/fork_count.h"
#include "pipeline/buffer_pool.h"
#include "pipeline/frame_items.h"
#include "pipeline/pipeline.h"
#include "pipeline/waking_lock.h"

namespace intarsia {

using FramePtr = std::shared_ptr<Frame>;

/// State shared by a pipeline and its workers; its last owner frees the stages.
class PipelineState {
 public:
  PipelineState(std::vector<PipelineGraph::NamedStage> stages, PipelineRoutes routes,
                PipelineOptions options);

  const PipelineRoutes& routes() const { return routes_; }
  const std::vector<PipelineGraph::NamedStage>& stages() const { return stages_; }
  /// Checks whether this is a child of fork(), which has no workers, and where the lock may never be free.
  bool is_of_parent() const { return forks_ != fork_count(); }

  /// Makes a frame with its inputs, copied where they have no owner; it is not in the pipeline yet.
  Result<FramePtr> make_frame(std::span<const NamedTensor> inputs);
  /// Waits for room until a time of the steady clock (INT64_MAX: forever); returns false if there is none.
  Result<bool> wait_for_room(int64_t until);
  Result<bool> insert(const FramePtr& frame, int64_t until);
  PoppedFrame pop(int64_t until);
  void finish();
  void cancel();
  std::vector<StageStatistics> statistics();
  std::vector<ReplicaStatistics> replicas(size_t stage);
  FrameStatistics frame_statistics();

  /// Runs the loop of a replica's thread until the pipeline ends.
  void work(uint32_t stage, uint32_t replica);
  bool is_running(uint32_t stage, uint32_t replica);

 private:
  struct WaitingFrame {
    FramePtr frame;
    int64_t since_ns = 0;
    bool takes_place = true;  // whether it counts against the depth; else it only keeps the order
    bool is_dropped = false;  // dropped in this lane: its dropper frees its values
    uint32_t next_run = 0;    // next run to take; one run for each of its items
  };

  /// Work that a worker takes from a lane: a run of the stage, or all runs left of a frame that is given up.
  struct TakenRuns {
    FramePtr frame;
    uint32_t first = 0, count = 0;
    bool is_skipped = false, is_dropped = false;
  };

  /// Queue of frames that wait for a stage or, at the end, to be popped.
  struct Lane {
    explicit Lane(size_t replicas) : running(replicas), is_busy(replicas), service(replicas) {}

    std::deque<WaitingFrame> frames;
    QueuePolicy policy = QueuePolicy::block;
    size_t depth = 0, places_taken = 0;
    bool has_room() const { return policy != QueuePolicy::block || places_taken < depth; }
    WakingEvent arrival, room;
    uint64_t next = 0;                   // frame that the stage hands on next
    std::map<uint64_t, FramePtr> early;  // frames that the stage is done with before their turn
    WakingEvent turn;                    // signals that another frame has the turn
    std::vector<bool> running;           // replicas whose threads have a frame, or recover
    std::vector<bool> is_busy;           // replicas whose stages run, in whichever thread
    ReplicaService service;
    WakingEvent served;  // signals that a replica is free, or its service changed
    StageStatistics statistics;
  };

  Status check_open() const;
  Result<bool> wait_for_room(WakingLock& lock, int64_t until);
  std::optional<TakenRuns> take(WakingLock& lock, uint32_t stage, uint32_t replica);
  bool wait_for_frame(WakingLock& lock, uint32_t stage, uint32_t replica);
  TakenRuns take_runs(WakingLock& lock, uint32_t stage);
  void count_runs(Frame& frame, uint32_t stage);
  void begin_frame(WaitingFrame& waiting, uint32_t stage);
  bool end_runs(const TakenRuns& taken, uint32_t stage, Status status);
  Status serve(WakingLock& lock, Frame& frame, uint32_t stage, uint32_t own, uint32_t run);
  std::optional<uint32_t> find_replica(WakingLock& lock, Lane& lane, uint32_t own,
                                       const std::vector<bool>& tried);
  Status run_on(WakingLock& lock, Frame& frame, uint32_t stage, uint32_t replica, uint32_t own, uint32_t run);
  Status late_before(const Frame& frame, uint32_t stage) const;
  void recover(WakingLock& lock, uint32_t stage, uint32_t replica);
  void exonerate(WakingLock& lock, Lane& lane, const std::vector<uint32_t>& replicas);
  void wake_service(WakingLock& lock, Lane& lane);
  static void free_place(WakingLock& lock, Lane& lane, WaitingFrame& waiting);
  bool has_room_inside() const;
  Status fill_outputs(const Frame& frame, PoppedFrame& popped);
  void put_in(uint32_t lane, const FramePtr& frame);
  void drop_oldest(uint32_t lane);
  void free_dropped(WakingLock& lock);
  void count_popped(const PoppedFrame& popped);
  Status run_stage(Frame& frame, uint32_t stage, uint32_t replica, uint32_t run);
  Result<FrameValue> make_input(const Frame& frame, uint32_t value, const PipelineRoutes::StageRoute& route,
                                uint32_t run);
  Status keep_output(Frame& frame, uint32_t stage, size_t output, uint32_t run, FrameValue made);
  Status make_output(uint32_t value, const StagePort& port, NamedTensor& output);
  void hand_on(WakingLock& lock, uint32_t stage, FramePtr frame);
  void hand_on_in_turn(WakingLock& lock, uint32_t stage, FramePtr frame);
  int64_t pass_to(WakingLock& lock, uint32_t lane, const FramePtr& frame);
  void drop_read_values(uint32_t lane, Frame& frame);
  void wake_all(WakingLock& lock);
  void trace(const FrameEvent& event);
  void trace_steps();
  Lane& end() { return *lanes_.back(); }

  const uint32_t forks_ = fork_count();
  const std::vector<PipelineGraph::NamedStage> stages_;
  const PipelineRoutes routes_;
  const PipelineOptions options_;
  std::vector<BufferPool> pools_;          // indexed by value
  std::vector<uint32_t> waits_, readers_;  // counts of a new frame; the end is a reader, too
  std::vector<uint32_t> kept_;             // values that a frame has at its end

  std::recursive_mutex trace_mutex_;  // recursive, as a trace may cancel
  bool is_trace_over_ = false;
  mutable std::mutex mutex_;                            // guards everything below
  std::vector<std::unique_ptr<Lane>> lanes_;            // one per stage, then the end's
  std::deque<FramePtr> inside_;                         // frames pushed and not popped
  std::vector<std::pair<uint32_t, FramePtr>> dropped_;  // lanes and frames whose values are to be freed
  bool may_drop_ = false;
  FrameStatistics frame_statistics_;
  uint64_t next_id_ = 0;
  bool is_finished_ = false, is_cancelled_ = false;
};

}  // namespace intarsia
