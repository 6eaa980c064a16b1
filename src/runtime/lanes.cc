#include "runtime/lanes.h"

namespace intarsia {
namespace {

/// Until `flag` is `number`: a short spin, then sleep, as std::atomic does it.
void wait_for(const std::atomic<uint32_t>& flag, uint32_t number) {
  for (uint32_t seen = flag.load(std::memory_order_acquire); seen != number;
       seen = flag.load(std::memory_order_acquire)) {
    flag.wait(seen, std::memory_order_acquire);
  }
}

void announce(std::atomic<uint32_t>& flag, uint32_t number) {
  flag.store(number, std::memory_order_release);
  flag.notify_all();
}

}  // namespace

Lanes::Lanes(NoThreads, StepSchedule schedule, RunStep run_step)
    : schedule_(std::move(schedule)),
      run_step_(std::move(run_step)),
      step_done_(schedule_.waits.size()),
      lane_done_(schedule_.lanes.size()),
      statuses_(schedule_.lanes.size()),
      failed_steps_(schedule_.lanes.size()) {}

// Delegates to a constructor that is done before the first thread starts: if a later thread cannot start, the
// destructor ends the others.
Lanes::Lanes(StepSchedule schedule, RunStep run_step)
    : Lanes(NoThreads(), std::move(schedule), std::move(run_step)) {
  for (size_t lane = 1; lane < schedule_.lanes.size(); ++lane)
    threads_.emplace_back([this, lane] { work(lane); });
}

Lanes::~Lanes() {
  stop_.store(true);
  run_.fetch_add(1);
  run_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lanes::run_lane(size_t lane, uint32_t run) {
  for (uint32_t step : schedule_.lanes[lane]) {
    for (uint32_t before : schedule_.waits[step]) wait_for(step_done_[before], run);
    if (!failed_.load(std::memory_order_relaxed)) {
      statuses_[lane] = run_step_(step);
      if (!statuses_[lane]) {
        failed_steps_[lane] = step;
        failed_.store(true, std::memory_order_relaxed);
      }
    }
    announce(step_done_[step], run);
  }
  announce(lane_done_[lane], run);
}

void Lanes::work(size_t lane) {
  uint32_t seen = 0;
  while (true) {
    run_.wait(seen, std::memory_order_acquire);
    if (stop_.load()) return;
    seen = run_.load(std::memory_order_acquire);
    run_lane(lane, seen);
  }
}

Status Lanes::run() {
  failed_.store(false, std::memory_order_relaxed);
  for (Status& status : statuses_) status = {};
  const uint32_t run = run_.load(std::memory_order_relaxed) + 1;
  announce(run_, run);
  run_lane(0, run);
  for (std::atomic<uint32_t>& lane : lane_done_) wait_for(lane, run);
  size_t first = statuses_.size();
  for (size_t lane = 0; lane < statuses_.size(); ++lane) {
    if (statuses_[lane]) continue;
    if (first == statuses_.size() || failed_steps_[lane] < failed_steps_[first]) first = lane;
  }
  return first == statuses_.size() ? Status() : statuses_[first];
}

}  // namespace intarsia
