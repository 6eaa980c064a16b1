// Parallel loop as seen by its caller and the workers that help: distribution of tasks, and waiting.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace intarsia {

/// Pauses briefly in a spinning wait.
void relax();

/// Thread that helps with loops.
struct alignas(64) Worker {
  int number = 0;  // counted from 1
  pthread_t thread{};
  std::atomic<int> asleep{0};  // 1 while asleep; the waker sets it to 0 and notifies
  /// Time, by clock_nanoseconds(), until which the worker joins no loop. Set by a caller that waited for the
  /// worker while the system ran something else in its place.
  std::atomic<int64_t> away_until{0};
};

/// Tasks not taken yet: their owner takes them from the front, others from the back.
class alignas(64) TaskRange {
 public:
  void set(int begin, int end) { ends_.store(pack(begin, end), std::memory_order_relaxed); }
  /// Takes a task; returns -1 when none is left.
  int take_first();
  int take_last();

 private:
  static uint64_t pack(int begin, int end) {
    return static_cast<uint64_t>(begin) << 32 | static_cast<uint32_t>(end);
  }
  std::atomic<uint64_t> ends_{0};
};

/// Loops of one caller, run one after the other. A loop is open while workers may join: they join, take a
/// seat, take tasks, and leave. Each seat has its own share of the tasks, the same one in every loop, so that
/// consecutive kernels write and read the same part of a tensor from one core, whose caches hold it. A seat
/// with no task left takes the last ones of others. The caller, in seat 0, takes tasks too. When there are
/// none left, it closes the loop and waits only for workers that joined: one that still sleeps costs nothing.
class alignas(64) ParallelLoop {
 public:
  using Body = int (*)(void* data, int task, int seat);

  /// Prepares for at most `seats` seats and as many workers.
  explicit ParallelLoop(int seats) : places_(static_cast<size_t>(seats)) {}
  ParallelLoop(const ParallelLoop&) = delete;
  ParallelLoop& operator=(const ParallelLoop&) = delete;

  ParallelLoop* next = nullptr;  // next loop of the pool

  /// Sets the number of seats in use. Must not be called while a loop is open.
  void set_size(int seats) { size_.store(seats, std::memory_order_relaxed); }

  /// Caller's side: begin() opens the loop to workers, finish() takes part in it and returns the first result
  /// that is not 0, or 0.
  void begin(int tasks, Body body, void* data);
  int finish();

  /// Worker's side: takes part in the loop if it is open, has a seat and this worker has not been in it.
  /// Returns whether it did.
  bool help(Worker& worker);

  /// Returns the seat of the task that the calling thread runs, or -1.
  static int current_seat();

 private:
  // State: the generation (number of the loop) times `one_generation`, plus `open` while the loop is open,
  // plus the number of workers inside.
  static constexpr uint64_t open = uint64_t{1} << 31, one_generation = uint64_t{1} << 32;
  static uint64_t generation_of(uint64_t state) { return state / one_generation; }
  static uint64_t inside(uint64_t state) { return state % open; }

  /// Seat, and data of the worker with the same number.
  struct alignas(64) Place {
    TaskRange tasks;
    std::atomic<Worker*> sitting{nullptr};
    uint64_t joined_last = 0;   // last generation that the worker of this number joined; only it uses this
    Worker* awaited = nullptr;  // worker that the caller waits for; only the caller uses this
    int64_t cpu_before = 0;     // CPU time of the awaited worker when the wait started
  };

  int size() const { return size_.load(std::memory_order_relaxed); }
  bool join(uint64_t generation);
  size_t take_seat(Worker& worker);
  void leave(size_t seat);
  void take_tasks(size_t seat);
  void run_task(int task, size_t seat);
  void wait_for_workers();
  void sleep_until_they_left();
  void judge_who_left(int64_t waiting_since);

  std::atomic<uint64_t> state_{0};
  std::atomic<int> size_{1};
  std::atomic<int> result_{0};
  std::atomic<bool> caller_sleeps_{false};
  Body body_ = nullptr;
  void* data_ = nullptr;
  std::vector<Place> places_;
};

}  // namespace intarsia
