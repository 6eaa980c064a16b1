#include "pipeline/pipeline_state.h"

#include <algorithm>

#include "base/caught.h"
#include "base/clock.h"

namespace intarsia {
namespace {

/// Most frames inside a pipeline that drops: dropped frames still wait for their turn to be popped.
constexpr size_t most_inside = 1 << 16;

}  // namespace

PipelineState::PipelineState(std::vector<PipelineGraph::NamedStage> stages, PipelineRoutes routes,
                             PipelineOptions options)
    : stages_(std::move(stages)), routes_(std::move(routes)), options_(std::move(options)) {
  pools_.resize(routes_.readers.size());
  readers_ = routes_.readers;
  for (uint32_t value = 0; value < readers_.size(); ++value)
    if (routes_.is_output[value] || readers_[value] == 0) {
      kept_.push_back(value);
      ++readers_[value];
    }
  for (size_t s = 0; s < stages_.size(); ++s) {
    waits_.push_back(static_cast<uint32_t>(routes_.stages[s].producers.size()));
    const auto& replicas = stages_[s].replicas;
    Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>(replicas.size()));
    lane.statistics.name = stages_[s].name;
    lane.statistics.replicas = static_cast<uint32_t>(replicas.size());
    lane.policy = stages_[s].options.queue.value_or(options_.queue);
    for (size_t r = 0; r < replicas.size(); ++r) {
      lane.service.tell(r, replicas[r]->note());
      const Status status = replicas[r]->status();
      if (!status) lane.service.begin_out_of_service(r, status.error(), clock_nanoseconds());
    }
  }
  waits_.push_back(static_cast<uint32_t>(routes_.last.size()));
  lanes_.push_back(std::make_unique<Lane>(0));
  end().policy = options_.queue;
  for (const auto& lane : lanes_) {
    lane->depth = lane->policy == QueuePolicy::latest ? 1 : options_.depth;
    may_drop_ |= lane->policy != QueuePolicy::block;
  }
  if (options_.trace && options_.traces_steps) trace_steps();
}

Result<FramePtr> PipelineState::make_frame(std::span<const NamedTensor> inputs) {
  auto frame = std::make_shared<Frame>();
  frame->values.resize(routes_.readers.size());
  frame->runs.resize(stages_.size());
  frame->waits = waits_;
  frame->readers_left = readers_;
  std::vector<bool> given(routes_.inputs.size());
  for (const NamedTensor& input : inputs) {
    const auto name = std::ranges::find(routes_.inputs, input.name);
    if (name == routes_.inputs.end()) return fail("the pipeline has no input '{}'", input.name);
    const auto value = static_cast<size_t>(name - routes_.inputs.begin());
    if (given[value]) return fail("input '{}' of the pipeline is given twice", input.name);
    given[value] = true;
    frame->values[value].push_back(
        input.owner != nullptr
            ? FrameValue{input.tensor, input.owner}
            : TRY(with_context(pools_[value].copy(input.tensor), "input '{}' of the pipeline", input.name)));
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

bool PipelineState::has_room_inside() const { return !may_drop_ || inside_.size() < most_inside; }

Result<bool> PipelineState::wait_for_room(WakingLock& lock, int64_t until) {
  TRY(check_open());
  for (size_t i = 0; i < routes_.first.size();) {
    Lane& lane = *lanes_[routes_.first[i]];
    if (lane.has_room() && has_room_inside()) {
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
  const int64_t deadline = frame->given.deadline_ns > 0 ? frame->given.deadline_ns : options_.deadline_ns;
  if (deadline > 0 && deadline < INT64_MAX - frame->pushed_ns) frame->due_ns = frame->pushed_ns + deadline;
  inside_.push_back(frame);
  if (inside_.size() == 1) lock.wake_all(end().arrival);  // a waiting pop() learns of its deadline
  for (const uint32_t stage : routes_.first) pass_to(lock, stage, frame);
  free_dropped(lock);
  return true;
}

PoppedFrame PipelineState::pop(int64_t until) {
  FramePtr frame;  // freed without the lock, as its memory may be the caller's
  WakingLock lock(mutex_);
  while (true) {
    if (is_cancelled_ || (is_finished_ && inside_.empty())) return {PopState::ended};
    if (!end().frames.empty()) {
      WaitingFrame first = std::move(end().frames.front());
      end().frames.pop_front();
      free_place(lock, end(), first);
      frame = std::move(first.frame);
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
  const bool was_full = !has_room_inside();
  inside_.pop_front();
  if (was_full)
    for (const uint32_t stage : routes_.first) lock.wake_all(lanes_[stage]->room);
  if (inside_.empty() && is_finished_) lock.wake_all(end().arrival);
  PoppedFrame popped{PopState::frame, frame->id, frame->status, frame->pushed_ns,
                     frame->done_ns,  {},        frame->given};
  if (frame->is_timed_out)
    popped.status = fail(ErrorKind::timed_out, "frame {}: it was not done after {:.3f} ms", frame->id,
                         static_cast<double>(options_.timeout_ns) / 1e6);
  lock.unlock();
  if (popped.status) popped.status = caught([&] { return fill_outputs(*frame, popped); });
  frame.reset();
  lock.lock();
  count_popped(popped);
  return popped;
}

/// Fills in the outputs of a popped frame, items joined.
Status PipelineState::fill_outputs(const Frame& frame, PoppedFrame& popped) {
  for (const PipelineRoutes::Output& output : routes_.outputs) {
    const std::vector<FrameValue>& given = frame.values[output.value];
    const bool has_items = routes_.items_of[output.value] != PipelineRoutes::none;
    popped.outputs.push_back(
        has_items ? TRY(with_context(gather(given, routes_.ports[output.value], pools_[output.value]),
                                     "frame {}: output '{}'", frame.id, output.name))
                  : given.front());
  }
  return {};
}

void PipelineState::count_popped(const PoppedFrame& popped) {
  if (popped.status) {
    ++frame_statistics_.done;
    frame_statistics_.latency.add(popped.done_ns - popped.pushed_ns);
  } else if (popped.status.error().kind == ErrorKind::dropped) {
    ++frame_statistics_.dropped;
  } else if (popped.status.error().kind == ErrorKind::timed_out) {
    ++frame_statistics_.timed_out;
  } else {
    ++frame_statistics_.errors;
  }
}

void PipelineState::wake_all(WakingLock& lock) {
  for (const auto& lane : lanes_)
    for (WakingEvent* event : {&lane->arrival, &lane->room, &lane->turn, &lane->served})
      lock.wake_all(*event);
}

void PipelineState::finish() {
  WakingLock lock(mutex_);
  is_finished_ = true;
  wake_all(lock);
}

/// Calls the trace, unless the pipeline was cancelled.
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
    for (WaitingFrame& waiting : lane->frames) dropped.push_back(std::move(waiting.frame));
    lane->frames.clear();
    lane->places_taken = 0;
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
    all.back().queued = lanes_[s]->places_taken;
    all.back().running = static_cast<uint32_t>(std::ranges::count(lanes_[s]->running, true));
  }
  return all;
}

std::vector<ReplicaStatistics> PipelineState::replicas(size_t stage) {
  const WakingLock lock(mutex_);
  std::vector<ReplicaStatistics> all;
  for (size_t r = 0; r < stages_[stage].replicas.size(); ++r) all.push_back(lanes_[stage]->service[r]);
  return all;
}

FrameStatistics PipelineState::frame_statistics() {
  const WakingLock lock(mutex_);
  FrameStatistics statistics = frame_statistics_;
  statistics.pushed = next_id_;
  return statistics;
}

}  // namespace intarsia
