#include "pipeline/pipeline_state.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "base/caught.h"
#include "base/clock.h"

namespace intarsia {
namespace {

bool is_late(const Frame& frame) { return frame.deadline_ns > 0 && clock_nanoseconds() >= frame.deadline_ns; }

}  // namespace

PipelineState::PipelineState(std::vector<PipelineGraph::NamedStage> stages, PipelineRoutes routes,
                             PipelineOptions options)
    : stages_(std::move(stages)), routes_(std::move(routes)), options_(std::move(options)) {
  pools_.resize(routes_.readers.size());
  readers_ = routes_.readers;
  for (size_t s = 0; s < stages_.size(); ++s) {
    waits_.push_back(static_cast<uint32_t>(routes_.stages[s].producers.size()));
    Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>());
    lane.statistics.name = stages_[s].name;
    lane.statistics.replicas = static_cast<uint32_t>(stages_[s].replicas.size());
    lane.running.resize(stages_[s].replicas.size());
  }
  waits_.push_back(static_cast<uint32_t>(routes_.last.size()));
  lanes_.push_back(std::make_unique<Lane>());
}

// ---- Frames in and out ----

Result<FramePtr> PipelineState::make_frame(std::span<const NamedTensor> inputs) {
  auto frame = std::make_shared<Frame>();
  frame->values.resize(routes_.readers.size());
  frame->waits = waits_;
  frame->readers_left = readers_;
  std::vector<bool> given(routes_.inputs.size());
  for (const NamedTensor& input : inputs) {
    const auto name = std::ranges::find(routes_.inputs, input.name);
    if (name == routes_.inputs.end()) return fail("the pipeline has no input '{}'", input.name);
    const auto value = static_cast<size_t>(name - routes_.inputs.begin());
    if (given[value]) return fail("input '{}' of the pipeline is given twice", input.name);
    given[value] = true;
    frame->values[value] =
        input.owner != nullptr
            ? FrameValue{input.tensor, input.owner}
            : TRY(with_context(pools_[value].copy(input.tensor), "input '{}' of the pipeline", input.name));
  }
  const auto missing = std::ranges::find(given, false);
  if (missing != given.end())
    return fail("input '{}' of the pipeline is missing", routes_.inputs[size_t(missing - given.begin())]);
  return frame;
}

Status PipelineState::check_open() const {
  if (is_cancelled_) return fail(ErrorKind::cancelled, "the pipeline was cancelled: it takes no frames");
  if (is_finished_) return fail("the pipeline was told that no more frames come (finish): it takes none");
  return {};
}

Result<bool> PipelineState::wait_for_room(WakingLock& lock, int64_t until) {
  TRY(check_open());
  for (size_t i = 0; i < routes_.first.size();) {
    Lane& lane = *lanes_[routes_.first[i]];
    if (lane.frames.size() < options_.depth) {
      ++i;
      continue;
    }
    if (!lock.wait_until(lane.room, until)) return false;
    TRY(check_open());
    i = 0;
  }
  return true;
}

Result<bool> PipelineState::wait_for_room(int64_t until) {
  WakingLock lock(mutex_);
  return wait_for_room(lock, until);
}

Result<bool> PipelineState::insert(const FramePtr& frame, int64_t until) {
  WakingLock lock(mutex_);
  if (!TRY(wait_for_room(lock, until))) return false;
  frame->id = next_id_++;
  frame->pushed_ns = clock_nanoseconds();
  if (options_.timeout_ns > 0 && options_.timeout_ns < INT64_MAX - frame->pushed_ns)
    frame->deadline_ns = frame->pushed_ns + options_.timeout_ns;
  inside_.push_back(frame);
  if (inside_.size() == 1) lock.wake_all(end().arrival);  // who pops learns of its deadline
  for (const uint32_t stage : routes_.first) pass_to(lock, stage, frame);
  return true;
}

PoppedFrame PipelineState::pop(int64_t until) {
  FramePtr frame;  // freed without the lock, as its memory may be the caller's
  WakingLock lock(mutex_);
  while (true) {
    if (is_cancelled_ || (is_finished_ && inside_.empty())) return {PopState::ended};
    if (!end().frames.empty()) {
      frame = std::move(end().frames.front());
      end().frames.pop_front();
      lock.wake_all(end().room);
      break;
    }
    const int64_t deadline = inside_.empty() ? 0 : inside_.front()->deadline_ns;
    if (deadline > 0 && clock_nanoseconds() >= deadline) {
      frame = inside_.front();
      frame->is_timed_out = true;
      break;
    }
    const int64_t wake = deadline > 0 ? std::min(deadline, until) : until;
    if (!lock.wait_until(end().arrival, wake) && wake == until) return {PopState::none};
  }
  inside_.pop_front();
  if (inside_.empty() && is_finished_) lock.wake_all(end().arrival);
  PoppedFrame popped{PopState::frame, frame->id, frame->status, frame->pushed_ns, frame->done_ns, {}};
  if (frame->is_timed_out) {
    popped.status = fail(ErrorKind::timed_out, "frame {}: it was not done after {:.3f} ms", frame->id,
                         static_cast<double>(options_.timeout_ns) / 1e6);
    return popped;
  }
  lock.unlock();
  if (popped.status)
    for (const auto& output : routes_.outputs) popped.outputs.push_back(frame->values[output.value]);
  return popped;
}

void PipelineState::wake_all(WakingLock& lock) {
  for (const auto& lane : lanes_)
    for (WakingEvent* event : {&lane->arrival, &lane->room, &lane->turn}) lock.wake_all(*event);
}

void PipelineState::finish() {
  WakingLock lock(mutex_);
  is_finished_ = true;
  wake_all(lock);
}

/// None comes after the pipeline's end.
void PipelineState::trace(const FrameEvent& event) {
  const std::scoped_lock lock(trace_mutex_);
  if (!is_trace_over_) options_.trace(event);
}

void PipelineState::cancel() {
  {
    const std::scoped_lock lock(trace_mutex_);
    is_trace_over_ = true;
  }
  std::deque<FramePtr> dropped;  // freed without the lock
  WakingLock lock(mutex_);
  is_cancelled_ = true;
  dropped.swap(inside_);
  for (const auto& lane : lanes_) {
    dropped.insert(dropped.end(), lane->frames.begin(), lane->frames.end());
    lane->frames.clear();
  }
  wake_all(lock);
}

std::vector<StageStatistics> PipelineState::statistics() {
  const WakingLock lock(mutex_);
  std::vector<StageStatistics> all;
  for (size_t s = 0; s < stages_.size(); ++s) {
    all.push_back(lanes_[s]->statistics);
    all.back().queued = lanes_[s]->frames.size();
    all.back().running = static_cast<uint32_t>(std::ranges::count(lanes_[s]->running, true));
  }
  return all;
}

// ---- Workers ----

bool PipelineState::is_running(uint32_t stage, uint32_t replica) {
  const WakingLock lock(mutex_);
  return lanes_[stage]->running[replica];
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
    if (!is_skipped && options_.trace) trace({frame->id, stage, replica, begin, end});
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

/// To the stages behind this one, in the order of the frames.
void PipelineState::hand_on(WakingLock& lock, uint32_t stage, FramePtr frame) {
  Lane& lane = *lanes_[stage];
  int64_t& blocked_ns = lane.statistics.blocked_ns;
  blocked_ns += lock.wait(lane.turn, [&] { return lane.next == frame->id || is_cancelled_; });
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
