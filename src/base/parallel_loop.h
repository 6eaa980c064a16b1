// A parallel loop as its caller and the workers that help see it: who takes which task, and who waits for
// whom.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace intarsia {

/// Gives way in a spinning wait.
void relax();

/// A thread that helps with loops.
struct alignas(64) Worker {
  int number = 0;  // from 1
  pthread_t thread{};
  std::atomic<int> asleep{0};  // 1: until somebody sets it to 0 and notifies
  /// Set by a caller who waited for it while the system ran something else in its place: until then it
  /// joins no loop. Nanoseconds of clock_nanoseconds().
  std::atomic<int64_t> away_until{0};
};

/// Tasks that nobody has taken yet: their owner takes them from the front, others from the back.
class alignas(64) TaskRange {
 public:
  void set(int begin, int end) { ends_.store(pack(begin, end), std::memory_order_relaxed); }
  /// A task, or -1 when none is left.
  int take_first();
  int take_last();

 private:
  static uint64_t pack(int begin, int end) {
    return static_cast<uint64_t>(begin) << 32 | static_cast<uint32_t>(end);
  }
  std::atomic<uint64_t> ends_{0};
};

/// The loops of one caller, one after the other. A loop is open while workers may join: they join, take a
/// seat, take tasks, and leave. Each seat has its own share of the tasks, the same one in every loop:
/// consecutive kernels write and read the same part of a tensor from one core, whose caches hold it. A seat
/// with no task left takes the last ones of others. The caller, in seat 0, takes tasks, too, and when there
/// are none closes the loop and waits only for those that joined: a worker that still sleeps costs nothing.
class alignas(64) ParallelLoop {
 public:
  using Body = int (*)(void* data, int task, int seat);

  /// For at most `seats` seats and as many workers.
  explicit ParallelLoop(int seats) : places_(static_cast<size_t>(seats)) {}
  ParallelLoop(const ParallelLoop&) = delete;
  ParallelLoop& operator=(const ParallelLoop&) = delete;

  ParallelLoop* next = nullptr;  // of the pool's

  /// How many of the seats are used from now on. Not while a loop is open.
  void set_size(int seats) { size_.store(seats, std::memory_order_relaxed); }

  /// The caller's side: begin() shows the loop to workers, finish() takes part in it and returns the first
  /// result that is not 0, or 0.
  void begin(int tasks, Body body, void* data);
  int finish();

  /// The worker's side: takes part in the loop if it is open, has a seat and this worker has not been in it.
  /// False: it did not.
  bool help(Worker& worker);

  /// The seat of the task that the calling thread runs, or -1.
  static int current_seat();

 private:
  // State: the generation (the number of the loop) times `one_generation`, plus `open`, plus the number of
  // workers inside.
  static constexpr uint64_t open = uint64_t{1} << 31, one_generation = uint64_t{1} << 32;
  static uint64_t generation_of(uint64_t state) { return state / one_generation; }
  static uint64_t inside(uint64_t state) { return state % open; }

  /// A seat and what belongs to the worker of the same number.
  struct alignas(64) Place {
    TaskRange tasks;
    std::atomic<Worker*> sitting{nullptr};
    uint64_t joined_last = 0;   // the last generation that the worker of this number joined; its own
    Worker* awaited = nullptr;  // the caller's: whom it waits for, and
    int64_t cpu_before = 0;     // the CPU time that this one had taken when waiting began
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
