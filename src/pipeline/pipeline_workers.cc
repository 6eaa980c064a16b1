// Work of the stages' threads, and how frames pass from one stage to the next.
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "pipeline/pipeline_state.h"

namespace intarsia {
namespace {

/// Most items of a frame, so that memory stays bounded whatever a stage gives.
constexpr size_t most_items = 1 << 16;

}  // namespace

bool PipelineState::is_running(uint32_t stage, uint32_t replica) {
  const WakingLock lock(mutex_);
  return lanes_[stage]->running[replica];
}

void PipelineState::trace_steps() {
  for (uint32_t s = 0; s < stages_.size(); ++s)
    for (uint32_t r = 0; r < stages_[s].replicas.size(); ++r)
      stages_[s].replicas[r]->set_trace([this, s, r](uint64_t frame, const TraceEvent& step) {
        trace({frame, s, r, step.begin_ns, step.end_ns, &step});
      });
}

void PipelineState::work(uint32_t stage, uint32_t replica) {
  pthread_setname_np(pthread_self(), stages_[stage].name.substr(0, 15).c_str());
  const Stage& about = *stages_[stage].replicas[replica];
  Status placed;
  if (const std::optional<CoreSet> cores = about.cores()) placed = cores->bind_this_thread();
  WakingLock lock(mutex_);
  while (std::optional<TakenRuns> taken = take(lock, stage, replica)) {
    Lane& lane = *lanes_[stage];
    lane.running[replica] = true;
    const bool runs = !taken->is_skipped && taken->count > 0;
    Status status = !runs    ? Status()
                    : placed ? serve(lock, *taken->frame, stage, replica, taken->first)
                             : placed;
    const bool is_last = end_runs(*taken, stage, std::move(status));
    lock.unlock();
    if (is_last && !taken->is_dropped) drop_read_values(stage, *taken->frame);
    if (!is_last) taken->frame.reset();  // unlocked, as drop_read_values()
    lock.lock();
    lane.running[replica] = false;
    if (is_last) hand_on(lock, stage, std::move(taken->frame));
  }
}

/// Takes one run of the frame that has waited longest, or all runs left if that frame is given up.
PipelineState::TakenRuns PipelineState::take_runs(WakingLock& lock, uint32_t number) {
  Lane& lane = *lanes_[number];
  WaitingFrame& waiting = lane.frames.front();
  Frame& frame = *waiting.frame;
  if (waiting.next_run == 0) begin_frame(waiting, number);
  free_place(lock, lane, waiting);
  const uint32_t left = frame.runs[number].count - waiting.next_run;
  TakenRuns taken{waiting.frame, waiting.next_run, std::min(left, 1u), frame.is_given_up(),
                  waiting.is_dropped};
  if (taken.is_skipped) taken.count = left;
  waiting.next_run += taken.count;
  if (taken.count == left)
    lane.frames.pop_front();
  else
    lock.wake_one(lane.arrival);
  return taken;
}

/// Ends the wait of a frame: it is late, or the stage starts on it.
void PipelineState::begin_frame(WaitingFrame& waiting, uint32_t number) {
  Frame& frame = *waiting.frame;
  if (frame.is_given_up()) return;
  StageStatistics& statistics = lanes_[number]->statistics;
  const int64_t now = clock_nanoseconds();
  if (frame.due_ns == 0 || now < frame.due_ns) {
    statistics.queue.add(now - waiting.since_ns);
    return;
  }
  ++statistics.dropped;
  const auto milliseconds = [&](int64_t time) { return static_cast<double>(time - frame.pushed_ns) / 1e6; };
  frame.status = fail(ErrorKind::dropped,
                      "frame {}: dropped before stage '{}', {:.3f} ms after its push (deadline {:.3f} ms)",
                      frame.id, stages_[number].name, milliseconds(now), milliseconds(frame.due_ns));
}

/// Ends runs of a frame, whose error is the first run's that failed. Returns whether they were the last ones.
bool PipelineState::end_runs(const TakenRuns& taken, uint32_t number, Status status) {
  Frame& frame = *taken.frame;
  StageRuns& runs = frame.runs[number];
  StageStatistics& statistics = lanes_[number]->statistics;
  runs.has_run |= !taken.is_skipped;
  const bool is_dropped = !status && status.error().kind == ErrorKind::dropped;
  runs.has_failed |= !status && !is_dropped;
  statistics.dropped += is_dropped && frame.status ? 1 : 0;
  if (!status && frame.status) frame.status = std::move(status);
  runs.left -= taken.count;
  if (runs.left > 0) return false;
  statistics.frames += runs.has_run ? 1 : 0;
  statistics.errors += runs.has_failed ? 1 : 0;
  return true;
}

/// Gives an output memory of the pipeline, where its size is known.
Status PipelineState::make_output(uint32_t value, const StagePort& port, NamedTensor& output) {
  output.name = port.name;
  const bool is_sized =
      port.shape && std::ranges::none_of(*port.shape, [](int64_t size) { return size < 0; });
  if (!is_sized || port.dtype == DType::undefined || port.dtype == DType::string) return {};
  FrameValue made = TRY(with_context(pools_[value].make(port.dtype, *port.shape), "output '{}'", port.name));
  output.tensor = std::move(made.tensor);
  output.owner = std::move(made.owner);
  return {};
}

/// Returns what a run of a stage reads: the frame's value, one of its items, or all of them.
Result<FrameValue> PipelineState::make_input(const Frame& frame, uint32_t value,
                                             const PipelineRoutes::StageRoute& route, uint32_t run) {
  const std::vector<FrameValue>& given = frame.values[value];
  if (routes_.items_of[value] == PipelineRoutes::none) return given.front();
  return route.gathers ? gather(given, routes_.ports[value], pools_[value]) : given[run];
}

/// Stores an output as the frame's value, as an item's value, or scattered into items.
Status PipelineState::keep_output(Frame& frame, uint32_t number, size_t output, uint32_t run,
                                  FrameValue made) {
  const PipelineRoutes::StageRoute& route = routes_.stages[number];
  std::vector<FrameValue>& kept = frame.values[route.outputs[output]];
  if (!route.scatters[output]) {
    kept[run] = std::move(made);
    return {};
  }
  if (!made.tensor.shape.empty() && made.tensor.shape[0] > static_cast<int64_t>(most_items))
    return fail("it has {} rows to scatter, at most {} are possible", made.tensor.shape[0], most_items);
  kept = TRY(scatter(made));
  const bool is_first =
      std::ranges::find(route.scatters, true) - route.scatters.begin() == static_cast<int64_t>(output);
  uint32_t& items = frame.runs[number].items;
  if (is_first) items = static_cast<uint32_t>(kept.size());
  if (kept.size() == items) return {};
  return fail("it has {} rows, but the first that is scattered has {}: want one for each item", kept.size(),
              items);
}

Status PipelineState::run_stage(Frame& frame, uint32_t number, uint32_t replica, uint32_t run) {
  Stage& stage = *stages_[number].replicas[replica];
  const PipelineRoutes::StageRoute& route = routes_.stages[number];
  std::vector<NamedTensor> inputs, outputs(route.outputs.size());
  for (size_t i = 0; i < route.inputs.size(); ++i) {
    const std::string& name = stage.inputs()[i].name;
    FrameValue value = TRY(with_context(make_input(frame, route.inputs[i], route, run), "input '{}'", name));
    inputs.push_back({name, std::move(value.tensor), std::move(value.owner)});
  }
  std::vector<std::shared_ptr<void>> memory(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    TRY(make_output(route.outputs[i], stage.outputs()[i], outputs[i]));
    memory[i] = outputs[i].owner;
  }
  TRY(stage.run(frame.id, inputs, outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::shared_ptr<void>& owner = outputs[i].owner == nullptr ? memory[i] : outputs[i].owner;
    TRY(with_context(keep_output(frame, number, i, run, {std::move(outputs[i].tensor), std::move(owner)}),
                     "output '{}'", stage.outputs()[i].name));
  }
  return {};
}

/// Frees values that neither a stage nor the end reads any more, before the frame can leave. Called without
/// the lock, as their memory may be the caller's, whose release function may call the pipeline.
void PipelineState::drop_read_values(uint32_t lane, Frame& frame) {
  for (const uint32_t value : lane < stages_.size() ? routes_.stages[lane].reads : kept_) {
    const uint32_t before =
        std::atomic_ref(frame.readers_left[value]).fetch_sub(1, std::memory_order_acq_rel);
    if (before == 1) frame.values[value].clear();
  }
}

/// Hands a frame on to the stages behind this one, in the order of the frames; an early frame is kept for the
/// thread that has the turn.
void PipelineState::hand_on(WakingLock& lock, uint32_t stage, FramePtr frame) {
  Lane& lane = *lanes_[stage];
  const auto is_early = [&] { return lane.next != frame->id && !is_cancelled_; };
  lane.statistics.blocked_ns +=
      lock.wait(lane.turn, [&] { return !is_early() || lane.early.size() < options_.depth; });
  if (is_early()) {
    lane.early.emplace(frame->id, std::move(frame));
    return;
  }
  hand_on_in_turn(lock, stage, std::move(frame));
  while (!lane.early.empty() && lane.early.begin()->first == lane.next)
    hand_on_in_turn(lock, stage, std::move(lane.early.extract(lane.early.begin()).mapped()));
  free_dropped(lock);
}

void PipelineState::hand_on_in_turn(WakingLock& lock, uint32_t stage, FramePtr frame) {
  Lane& lane = *lanes_[stage];
  int64_t& blocked_ns = lane.statistics.blocked_ns;
  const std::vector<uint32_t>& consumers = routes_.stages[stage].consumers;
  for (const uint32_t consumer : consumers) blocked_ns += pass_to(lock, consumer, frame);
  if (consumers.empty()) blocked_ns += pass_to(lock, static_cast<uint32_t>(stages_.size()), frame);
  ++lane.next;
  lock.wake_all(lane.turn);
  if (is_finished_ && lane.next == next_id_) wake_service(lock, lane);  // the other replicas end, too
  if (!is_cancelled_ && !frame->is_timed_out) return;                   // inside_ has it, too
  lock.unlock();
  frame.reset();  // unlocked, as drop_read_values()
  lock.lock();
}

/// Passes the frame to a stage or the end, once everything that it waits for is there. Returns the
/// nanoseconds spent waiting for room.
int64_t PipelineState::pass_to(WakingLock& lock, uint32_t number, const FramePtr& frame) {
  if (frame->waits[number] > 0 && --frame->waits[number] > 0) return 0;
  Lane& lane = *lanes_[number];
  const bool is_end = number == stages_.size();
  if (is_end) frame->done_ns = clock_nanoseconds();
  const auto is_dropped = [&] { return is_cancelled_ || (is_end && frame->is_timed_out); };
  const int64_t waited = lock.wait(lane.room, [&] { return lane.has_room() || is_dropped(); });
  if (is_dropped()) return waited;
  put_in(number, frame);
  lock.wake_one(lane.arrival);
  return waited;
}

/// Frees the place that a frame takes in its lane, if it takes one.
void PipelineState::free_place(WakingLock& lock, Lane& lane, WaitingFrame& waiting) {
  if (!std::exchange(waiting.takes_place, false)) return;
  --lane.places_taken;
  lock.wake_all(lane.room);
}

/// Sets the runs of a frame that comes to the stage: one, or one for each of its items.
void PipelineState::count_runs(Frame& frame, uint32_t number) {
  const PipelineRoutes::StageRoute& route = routes_.stages[number];
  StageRuns& runs = frame.runs[number];
  if (route.items_of != PipelineRoutes::none) runs.count = runs.left = frame.runs[route.items_of].items;
  for (const uint32_t value : route.outputs) frame.values[value].resize(runs.count);
}

/// Puts the frame into a lane. A queue that drops keeps its places for frames that are still wanted.
void PipelineState::put_in(uint32_t number, const FramePtr& frame) {
  Lane& lane = *lanes_[number];
  if (number < stages_.size()) count_runs(*frame, number);
  const bool takes_place = lane.policy == QueuePolicy::block || !frame->is_given_up();
  if (takes_place && lane.places_taken >= lane.depth) drop_oldest(number);
  lane.frames.push_back({frame, clock_nanoseconds(), takes_place});
  lane.places_taken += takes_place ? 1 : 0;
  if (!takes_place && number == stages_.size())
    dropped_.emplace_back(number, frame);  // its values have no readers
  lane.statistics.most_queued = std::max(lane.statistics.most_queued, lane.places_taken);
}

/// Drops the frame that has waited longest. Its entry stays in the queue, so that frames leave in order.
void PipelineState::drop_oldest(uint32_t number) {
  Lane& lane = *lanes_[number];
  auto oldest = lane.frames.rbegin();  // entries before it are mostly dropped frames
  for (size_t places = 0;; ++oldest)
    if (oldest->takes_place && ++places == lane.places_taken) break;
  oldest->takes_place = false;
  oldest->is_dropped = true;
  --lane.places_taken;
  dropped_.emplace_back(number, oldest->frame);
  Frame& frame = *oldest->frame;
  if (frame.is_given_up()) return;
  ++lane.statistics.dropped;
  const std::string where =
      number == stages_.size() ? "it was popped" : fmt::format("stage '{}'", stages_[number].name);
  frame.status =
      fail(ErrorKind::dropped, "frame {}: dropped before {}, as a later one came", frame.id, where);
}

/// Frees the values of dropped frames, without the lock, as drop_read_values().
void PipelineState::free_dropped(WakingLock& lock) {
  if (dropped_.empty()) return;
  auto dropped = std::exchange(dropped_, {});
  lock.unlock();
  for (auto& [lane, frame] : dropped) {
    drop_read_values(lane, *frame);
    frame.reset();
  }
  lock.lock();
}

}  // namespace intarsia
