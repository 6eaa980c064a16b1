// What the threads of stages do, and how frames come from one to the next.
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "base/caught.h"
#include "base/clock.h"
#include "pipeline/pipeline_state.h"

namespace intarsia {
namespace {

bool is_late(const Frame& frame) { return frame.deadline_ns > 0 && clock_nanoseconds() >= frame.deadline_ns; }

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
  while (FramePtr frame = take(lock, stage)) {
    Lane& lane = *lanes_[stage];
    lane.running[replica] = true;
    const bool is_skipped = !frame->status || frame->is_timed_out;
    lock.unlock();
    const int64_t begin = clock_nanoseconds();
    Status status = is_skipped ? Status() : placed ? run_frame(*frame, stage, replica) : placed;
    const int64_t end = clock_nanoseconds();
    if (!is_skipped && options_.trace) trace({frame->id, stage, replica, begin, end, nullptr});
    drop_read_values(stage, *frame);
    lock.lock();
    lane.running[replica] = false;
    if (!is_skipped) {
      ++lane.statistics.frames;
      lane.statistics.errors += status ? 0 : 1;
      lane.statistics.busy_ns += end - begin;
    }
    if (!status && frame->status) frame->status = std::move(status);
    hand_on(lock, stage, std::move(frame));
  }
}

/// The next frame; null when none comes any more.
FramePtr PipelineState::take(WakingLock& lock, uint32_t stage) {
  Lane& lane = *lanes_[stage];
  lane.statistics.waiting_ns += lock.wait(lane.arrival, [&] {
    return !lane.frames.empty() || is_cancelled_ || (is_finished_ && lane.next == next_id_);
  });
  if (is_cancelled_ || lane.frames.empty()) return nullptr;
  FramePtr frame = std::move(lane.frames.front());
  lane.frames.pop_front();
  lock.wake_all(lane.room);
  return frame;
}

Status PipelineState::run_frame(Frame& frame, uint32_t stage, uint32_t replica) {
  const std::string& name = stages_[stage].name;
  if (is_late(frame))
    return fail(ErrorKind::timed_out, "frame {}: it was not done after {:.3f} ms, before stage '{}'",
                frame.id, static_cast<double>(options_.timeout_ns) / 1e6, name);
  return with_context(caught([&] { return run_stage(frame, stage, replica); }), "frame {}: stage '{}'",
                      frame.id, name);
}

/// Memory of the pipeline's, where it is known how much.
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

Status PipelineState::run_stage(Frame& frame, uint32_t number, uint32_t replica) {
  Stage& stage = *stages_[number].replicas[replica];
  const PipelineRoutes::StageRoute& route = routes_.stages[number];
  std::vector<NamedTensor> inputs, outputs(route.outputs.size());
  for (size_t i = 0; i < route.inputs.size(); ++i) {
    const FrameValue& value = frame.values[route.inputs[i]];
    inputs.push_back({stage.inputs()[i].name, value.tensor, value.owner});
  }
  std::vector<std::shared_ptr<void>> memory(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    TRY(make_output(route.outputs[i], stage.outputs()[i], outputs[i]));
    memory[i] = outputs[i].owner;
  }
  TRY(stage.run(frame.id, inputs, outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::shared_ptr<void>& owner = outputs[i].owner == nullptr ? memory[i] : outputs[i].owner;
    frame.values[route.outputs[i]] = {std::move(outputs[i].tensor), std::move(owner)};
  }
  return {};
}

/// Frees values that no stage reads any more, before the frame can leave; without the lock, as their memory
/// may be the caller's, whose release function may call the pipeline.
void PipelineState::drop_read_values(uint32_t stage, Frame& frame) {
  for (const uint32_t value : routes_.stages[stage].reads) {
    const uint32_t before =
        std::atomic_ref(frame.readers_left[value]).fetch_sub(1, std::memory_order_acq_rel);
    if (before == 1 && !routes_.is_output[value]) frame.values[value] = {};
  }
}

/// To the stages behind this one, in the order of the frames: one that is early is kept for whoever has the
/// turn.
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
}

void PipelineState::hand_on_in_turn(WakingLock& lock, uint32_t stage, FramePtr frame) {
  Lane& lane = *lanes_[stage];
  int64_t& blocked_ns = lane.statistics.blocked_ns;
  const std::vector<uint32_t>& consumers = routes_.stages[stage].consumers;
  for (const uint32_t consumer : consumers) blocked_ns += pass_to(lock, consumer, frame);
  if (consumers.empty()) blocked_ns += pass_to(lock, static_cast<uint32_t>(stages_.size()), frame);
  ++lane.next;
  lock.wake_all(lane.turn);
  if (is_finished_ && lane.next == next_id_) lock.wake_all(lane.arrival);  // the other replicas end, too
  if (!is_cancelled_ && !frame->is_timed_out) return;                      // inside_ has it, too
  lock.unlock();
  frame.reset();  // as drop_read_values()
  lock.lock();
}

/// Once all that the stage, or the end, waits for is there. Nanoseconds that it waited for room.
int64_t PipelineState::pass_to(WakingLock& lock, uint32_t number, const FramePtr& frame) {
  if (frame->waits[number] > 0 && --frame->waits[number] > 0) return 0;
  Lane& lane = *lanes_[number];
  const bool is_end = number == stages_.size();
  if (is_end) frame->done_ns = clock_nanoseconds();
  const auto is_dropped = [&] { return is_cancelled_ || (is_end && frame->is_timed_out); };
  const int64_t waited =
      lock.wait(lane.room, [&] { return lane.frames.size() < options_.depth || is_dropped(); });
  if (is_dropped()) return waited;
  lane.frames.push_back(frame);
  lane.statistics.most_queued = std::max(lane.statistics.most_queued, lane.frames.size());
  lock.wake_one(lane.arrival);
  return waited;
}

}  // namespace intarsia
