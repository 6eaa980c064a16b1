// Runs the steps of a schedule, one thread per lane.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "runtime/schedule_steps.h"

namespace intarsia {

/// Threads sleep between runs. One run at a time. `run_step` is called from several threads at once, for each
/// step after all that it waits for, and does not throw; when a step fails, steps that have not begun are
/// skipped.
class Lanes {
 public:
  using RunStep = std::function<Status(uint32_t step)>;
  /// Throws std::system_error when the system refuses more threads.
  Lanes(StepSchedule schedule, RunStep run_step);
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  /// The error is that of the first failed step in the program's order.
  Status run();

 private:
  struct NoThreads {};
  Lanes(NoThreads, StepSchedule schedule, RunStep run_step);
  void work(size_t lane);
  void run_lane(size_t lane, uint32_t run);

  StepSchedule schedule_;
  RunStep run_step_;
  // The number of the run in which a step (a lane) was last done; `run_` is the number of the current run.
  std::vector<std::atomic<uint32_t>> step_done_;
  std::vector<std::atomic<uint32_t>> lane_done_;
  std::atomic<uint32_t> run_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::vector<Status> statuses_;        // by lane
  std::vector<uint32_t> failed_steps_;  // by lane
  std::vector<std::thread> threads_;    // of the lanes from 1
};

}  // namespace intarsia
