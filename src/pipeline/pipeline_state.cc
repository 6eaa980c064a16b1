#include "pipeline/pipeline_state.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "base/caught.h"
#include "base/clock.h"

namespace intarsia {
namespace {

/// False: it is that time of the steady clock (INT64_MAX: never) already.
bool wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, int64_t until) {
  if (until == INT64_MAX) {
    condition.wait(lock);
    return true;
  }
  if (clock_nanoseconds() >= until) return false;
  condition.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until)));
  return true;
}

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
  if (options_.trace && options_.traces_steps) trace_steps();
}

void PipelineState::trace_steps() {
  for (uint32_t s = 0; s < stages_.size(); ++s)
    for (uint32_t r = 0; r < stages_[s].replicas.size(); ++r)
      stages_[s].replicas[r]->set_trace([this, s, r](uint64_t frame, const TraceEvent& step) {
        trace({frame, s, r, step.begin_ns, step.end_ns, &step});
      });
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
    FrameValue& kept = frame->values[value];
    kept = {input.tensor, input.owner};
    if (input.owner != nullptr) continue;
    if (input.tensor.dtype == DType::string) {
      const Tensor copy{ConstTensorView(input.tensor)};
      kept = {copy.view(), copy.owner()};
      continue;
    }
    kept.owner = pools_[value].take(input.tensor.bytes());
    if (kept.owner == nullptr)
      return fail(ErrorKind::out_of_memory, "no memory for input '{}' of the pipeline", input.name);
    kept.tensor.data = kept.owner.get();
    if (input.tensor.bytes() > 0) std::memcpy(kept.tensor.data, input.tensor.data, input.tensor.bytes());
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

Result<bool> PipelineState::wait_for_room(Lock& lock, int64_t until) {
  TRY(check_open());
  for (size_t i = 0; i < routes_.first.size();) {
    Lane& lane = *lanes_[routes_.first[i]];
    if (lane.frames.size() < options_.depth) {
      ++i;
      continue;
    }
    if (!wait_until(lane.room, lock, until)) return false;
    TRY(check_open());
    i = 0;
  }
  return true;
}

Result<bool> PipelineState::wait_for_room(int64_t until) {
  Lock lock(mutex_);
  return wait_for_room(lock, until);
}

Result<bool> PipelineState::insert(const FramePtr& frame, int64_t until) {
  Lock lock(mutex_);
  if (!TRY(wait_for_room(lock, until))) return false;
  frame->id = next_id_++;
  frame->pushed_ns = clock_nanoseconds();
  if (options_.timeout_ns > 0) frame->deadline_ns = frame->pushed_ns + options_.timeout_ns;
  inside_.push_back(frame);
  if (inside_.size() == 1) end().arrival.notify_all();  // who pops learns of its deadline
  for (const uint32_t stage : routes_.first) pass_to(lock, stage, frame);
  return true;
}

PoppedFrame PipelineState::pop(int64_t until) {
  FramePtr frame;  // freed without the lock, as its memory may be the caller's
  Lock lock(mutex_);
  while (true) {
    if (is_cancelled_ || (is_finished_ && inside_.empty())) return {PopState::ended};
    if (!end().frames.empty()) {
      frame = std::move(end().frames.front());
      end().frames.pop_front();
      end().room.notify_all();
      break;
    }
    const int64_t deadline = inside_.empty() ? 0 : inside_.front()->deadline_ns;
    if (deadline > 0 && clock_nanoseconds() >= deadline) {
      frame = inside_.front();
      frame->is_timed_out = true;
      break;
    }
    const int64_t wake = deadline > 0 ? std::min(deadline, until) : until;
    if (!wait_until(end().arrival, lock, wake) && wake == until) return {PopState::none};
  }
  inside_.pop_front();
  if (inside_.empty() && is_finished_) end().arrival.notify_all();
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

void PipelineState::wake_all() {
  for (const auto& lane : lanes_) {
    lane->arrival.notify_all();
    lane->room.notify_all();
    lane->turn.notify_all();
  }
}

void PipelineState::finish() {
  const Lock lock(mutex_);
  is_finished_ = true;
  wake_all();
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
  const Lock lock(mutex_);
  is_cancelled_ = true;
  dropped.swap(inside_);
  for (const auto& lane : lanes_) {
    dropped.insert(dropped.end(), lane->frames.begin(), lane->frames.end());
    lane->frames.clear();
  }
  wake_all();
}

std::vector<StageStatistics> PipelineState::statistics() {
  const Lock lock(mutex_);
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
  const Lock lock(mutex_);
  return lanes_[stage]->running[replica];
}

void PipelineState::work(uint32_t stage, uint32_t replica) {
  pthread_setname_np(pthread_self(), stages_[stage].name.substr(0, 15).c_str());
  const Stage& about = *stages_[stage].replicas[replica];
  Status placed;
  if (const std::optional<CoreSet> cores = about.cores()) placed = cores->bind_this_thread();
  Lock lock(mutex_);
  while (FramePtr frame = take(lock, stage)) {
    Lane& lane = *lanes_[stage];
    lane.running[replica] = true;
    const bool is_skipped = !frame->status || frame->is_timed_out;
    lock.unlock();
    const int64_t begin = clock_nanoseconds();
    Status status = is_skipped ? Status() : placed ? run_frame(*frame, stage, replica) : placed;
    const int64_t end = clock_nanoseconds();
    if (!is_skipped && options_.trace) trace({frame->id, stage, replica, begin, end, nullptr});
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
FramePtr PipelineState::take(Lock& lock, uint32_t stage) {
  Lane& lane = *lanes_[stage];
  if (lane.frames.empty()) {
    const int64_t begin = clock_nanoseconds();
    lane.arrival.wait(lock, [&] {
      return !lane.frames.empty() || is_cancelled_ || (is_finished_ && lane.next == next_id_);
    });
    lane.statistics.waiting_ns += clock_nanoseconds() - begin;
  }
  if (is_cancelled_ || lane.frames.empty()) return nullptr;
  FramePtr frame = std::move(lane.frames.front());
  lane.frames.pop_front();
  lane.room.notify_all();
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
  output.tensor.dtype = port.dtype;
  output.tensor.shape = *port.shape;
  output.owner = pools_[value].take(output.tensor.bytes());
  if (output.owner == nullptr)
    return fail(ErrorKind::out_of_memory, "no memory for output '{}' ({} bytes)", port.name,
                output.tensor.bytes());
  output.tensor.data = output.owner.get();
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

/// Values that no stage reads any more go to `dropped`.
void PipelineState::drop_read_values(uint32_t stage, Frame& frame, std::vector<FrameValue>& dropped) {
  for (const uint32_t value : routes_.stages[stage].reads)
    if (--frame.readers_left[value] == 0 && !routes_.is_output[value])
      dropped.push_back(std::exchange(frame.values[value], {}));
}

/// Their memory may be the caller's, whose release function may call the pipeline.
void PipelineState::free_unlocked(Lock& lock, std::vector<FrameValue>& values) {
  if (values.empty()) return;
  lock.unlock();
  values.clear();
  lock.lock();
}

/// To the stages behind this one, in the order of the frames.
void PipelineState::hand_on(Lock& lock, uint32_t stage, FramePtr frame) {
  Lane& lane = *lanes_[stage];
  const int64_t begin = clock_nanoseconds();
  lane.turn.wait(lock, [&] { return lane.next == frame->id || is_cancelled_; });
  std::vector<FrameValue> dropped;
  drop_read_values(stage, *frame, dropped);
  free_unlocked(lock, dropped);  // before the frame can leave
  for (const uint32_t consumer : routes_.stages[stage].consumers) pass_to(lock, consumer, frame);
  if (routes_.stages[stage].consumers.empty()) pass_to(lock, static_cast<uint32_t>(stages_.size()), frame);
  lane.statistics.blocked_ns += clock_nanoseconds() - begin;
  ++lane.next;
  lane.turn.notify_all();
  if (is_finished_ && lane.next == next_id_) lane.arrival.notify_all();  // the other replicas end, too
  lock.unlock();
  frame.reset();  // perhaps the last to have it
  lock.lock();
}

/// Once all that the stage, or the end, waits for is there; waits for room.
void PipelineState::pass_to(Lock& lock, uint32_t number, const FramePtr& frame) {
  if (frame->waits[number] > 0 && --frame->waits[number] > 0) return;
  Lane& lane = *lanes_[number];
  const bool is_end = number == stages_.size();
  if (is_end) frame->done_ns = clock_nanoseconds();
  if (is_end && frame->is_timed_out) return;
  lane.room.wait(lock, [&] {
    return lane.frames.size() < options_.depth || is_cancelled_ || (is_end && frame->is_timed_out);
  });
  if (is_cancelled_ || (is_end && frame->is_timed_out)) return;
  lane.frames.push_back(frame);
  lane.statistics.most_queued = std::max(lane.statistics.most_queued, lane.frames.size());
  lane.arrival.notify_one();
}

}  // namespace intarsia
