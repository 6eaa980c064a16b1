// Service of replicas: how a frame finds one that runs it, and how one that failed comes back.
#include <algorithm>

#include "base/caught.h"
#include "base/clock.h"
#include "pipeline/pipeline_state.h"

namespace intarsia {
namespace {

bool is_late(const Frame& frame) { return frame.deadline_ns > 0 && clock_nanoseconds() >= frame.deadline_ns; }

bool is_of_device(ErrorKind kind) {
  return kind == ErrorKind::device_lost || kind == ErrorKind::out_of_memory;
}

}  // namespace

/// Finds the replica that runs a frame: `own` if it can, else another. Waits while all that can are busy.
/// Returns nullopt if none in service is left that has not tried the frame, or the pipeline is cancelled.
std::optional<uint32_t> PipelineState::find_replica(WakingLock& lock, Lane& lane, uint32_t own,
                                                    const std::vector<bool>& tried) {
  std::optional<uint32_t> found;
  bool is_any = false;
  const auto look = [&] {
    is_any = false;
    for (uint32_t i = 0; i < tried.size() && !found; ++i) {
      const uint32_t replica = (own + i) % static_cast<uint32_t>(tried.size());
      if (tried[replica] || !lane.service.is_in_service(replica)) continue;
      is_any = true;
      if (!lane.is_busy[replica]) found = replica;
    }
    return found || !is_any || is_cancelled_;
  };
  lock.wait(lane.served, look);
  return found;
}

/// Runs the stage of a replica in this thread, which is the worker of replica `own`. Called with the lock,
/// which it releases while the stage runs.
Status PipelineState::run_on(WakingLock& lock, Frame& frame, uint32_t number, uint32_t replica, uint32_t own,
                             uint32_t run) {
  Lane& lane = *lanes_[number];
  Stage& stage = *stages_[number].replicas[replica];
  lane.is_busy[replica] = true;
  lock.unlock();
  std::optional<BoundThread> bound;
  if (const std::optional<CoreSet> cores = stage.cores(); cores && replica != own) bound.emplace(*cores);
  const int64_t begin = clock_nanoseconds();
  Status status = caught([&] { return run_stage(frame, number, replica, run); });
  const int64_t end = clock_nanoseconds();
  if (options_.trace) trace({frame.id, number, replica, begin, end, nullptr});
  lock.lock();
  lane.is_busy[replica] = false;
  lane.statistics.busy_ns += end - begin;
  lane.statistics.run.add(end - begin);
  lane.service.tell(replica, stage.note());
  lock.wake_all(lane.served);
  return status;
}

/// Runs the frame. Called with the lock, which it releases while a stage runs. A replica that goes out of
/// service leaves the frame to another, whose stage this thread runs: the other's thread may be waiting for
/// this frame's turn.
Status PipelineState::serve(WakingLock& lock, Frame& frame, uint32_t number, uint32_t own, uint32_t run) {
  Lane& lane = *lanes_[number];
  std::vector<bool> tried(stages_[number].replicas.size());
  std::vector<uint32_t> blamed;  // replicas put out of service for what may be the frame's fault
  std::string before;            // text about earlier failures
  Status status;
  while (const std::optional<uint32_t> replica = find_replica(lock, lane, own, tried)) {
    if (is_late(frame)) return late_before(frame, number);
    const bool is_repeat = !before.empty();
    status = run_on(lock, frame, number, *replica, own, run);
    tried[*replica] = true;
    if (status || status.error().kind == ErrorKind::dropped) {
      lane.service.succeeded(*replica, is_repeat);
      break;
    }
    Error& error = status.error();
    const bool is_out = lane.service.failed(*replica, error, is_repeat, clock_nanoseconds());
    if (is_out) wake_service(lock, lane);
    if (is_out && !is_of_device(error.kind)) blamed.push_back(*replica);
    if (!is_out && !is_of_device(error.kind)) exonerate(lock, lane, blamed);
    error.message += before;
    if (!is_out || !stages_[number].replicas[*replica]->may_repeat()) break;
    before = fmt::format("; before, replica {} failed: {}", *replica, lane.service[*replica].reason);
  }
  if (std::ranges::find(tried, true) == tried.end())
    status = fail(lane.service.kind(), "no replica is in service: {}", lane.service.reasons());
  return with_context(std::move(status), "frame {}: stage '{}'", frame.id, stages_[number].name);
}

Status PipelineState::late_before(const Frame& frame, uint32_t stage) const {
  return fail(ErrorKind::timed_out, "frame {}: it was not done after {:.3f} ms, before stage '{}'", frame.id,
              static_cast<double>(options_.timeout_ns) / 1e6, stages_[stage].name);
}

/// Wakes all waiting threads, as a replica went out of service or came back.
void PipelineState::wake_service(WakingLock& lock, Lane& lane) {
  lock.wake_all(lane.served);
  lock.wake_all(lane.arrival);
}

void PipelineState::exonerate(WakingLock& lock, Lane& lane, const std::vector<uint32_t>& replicas) {
  for (const uint32_t replica : replicas) lane.service.exonerate(replica);
  if (!replicas.empty()) wake_service(lock, lane);
}

/// Recovers a replica that was left alone long enough; releases the lock meanwhile.
void PipelineState::recover(WakingLock& lock, uint32_t number, uint32_t replica) {
  Lane& lane = *lanes_[number];
  Stage& stage = *stages_[number].replicas[replica];
  lane.running[replica] = lane.is_busy[replica] = true;
  lock.unlock();
  const Status status = caught([&] { return stage.recover(); });
  lock.lock();
  lane.running[replica] = lane.is_busy[replica] = false;
  lane.service.tell(replica, stage.note());
  lane.service.recovered(replica, status, clock_nanoseconds());
  wake_service(lock, lane);
}

/// Takes runs of the next frame; nullopt if no more frames come.
std::optional<PipelineState::TakenRuns> PipelineState::take(WakingLock& lock, uint32_t stage,
                                                            uint32_t replica) {
  return wait_for_frame(lock, stage, replica) ? std::optional(take_runs(lock, stage)) : std::nullopt;
}

/// Waits for a frame; returns false if no more come. A replica that is out of service takes frames only if
/// none is in service, for which they fail.
bool PipelineState::wait_for_frame(WakingLock& lock, uint32_t stage, uint32_t replica) {
  Lane& lane = *lanes_[stage];
  const auto has_ended = [&] { return is_cancelled_ || (is_finished_ && lane.next == next_id_); };
  while (true) {
    const bool serves = lane.service.is_in_service(replica);
    const bool may_take = serves || lane.service.count_in_service() == 0;
    const auto is_ready = [&] { return has_ended() || !lane.frames.empty(); };
    if (has_ended()) return false;
    if (!serves && clock_nanoseconds() >= lane.service.next_try_ns(replica))
      recover(lock, stage, replica);
    else if (may_take && is_ready())
      return true;
    else if (!serves)
      lock.wait_until(may_take ? lane.arrival : lane.served, lane.service.next_try_ns(replica));
    else
      lane.statistics.waiting_ns +=
          lock.wait(lane.arrival, [&] { return is_ready() || !lane.service.is_in_service(replica); });
  }
}

}  // namespace intarsia
