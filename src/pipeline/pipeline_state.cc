#include "pipeline/pipeline_state.h"

#include <algorithm>

#include "base/clock.h"

namespace intarsia {
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
    for (auto& [id, frame] : lane->early) dropped.push_back(std::move(frame));
    lane->early.clear();
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

}  // namespace intarsia
