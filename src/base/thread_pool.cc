#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace intarsia {
namespace {

/// Longer than the single-threaded kernels between two parallel ones take; no longer than that, as spinning
/// burns a core.
constexpr std::chrono::microseconds spin_time{100};

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// The worker that this thread is while it runs a task, else -1.
thread_local int current_worker = -1;

}  // namespace

/// Tasks that nobody has taken yet: their owner takes them from the front, others from the back.
class alignas(64) TaskRange {
 public:
  void set(int begin, int end) { ends_.store(pack(begin, end), std::memory_order_relaxed); }

  /// A task, or -1 when none is left.
  int take_first() {
    return take([](int begin, int end) { return pack(begin + 1, end); },
                [](int begin, int) { return begin; });
  }
  int take_last() {
    return take([](int begin, int end) { return pack(begin, end - 1); },
                [](int, int end) { return end - 1; });
  }

 private:
  static uint64_t pack(int begin, int end) {
    return static_cast<uint64_t>(begin) << 32 | static_cast<uint32_t>(end);
  }

  template <typename Rest, typename Taken>
  int take(Rest rest, Taken taken) {
    uint64_t now = ends_.load(std::memory_order_relaxed);
    while (true) {
      const int begin = static_cast<int>(now >> 32), end = static_cast<int>(static_cast<uint32_t>(now));
      if (begin >= end) return -1;
      if (ends_.compare_exchange_weak(now, rest(begin, end), std::memory_order_relaxed))
        return taken(begin, end);
    }
  }

  std::atomic<uint64_t> ends_{0};
};

// A job is published by raising the generation in `state`; workers that see it while it is open join, take
// tasks, and leave. Each has its own share of the tasks, the same one in every job: consecutive kernels
// write and read the same part of a tensor from one core, whose caches hold it. A worker with no task left
// steals the last ones of others. The caller takes tasks, too, and when there are none it closes the job and
// waits only for those that joined: a worker that still sleeps costs nothing. Lock order: `mutex` alone, for
// sleeping and waking.
struct ThreadPool::Shared {
  explicit Shared(int threads) : ranges(static_cast<size_t>(threads)) {}

  // The generation times `one_generation`, plus `open`, plus the number of workers inside.
  static constexpr uint64_t open = uint64_t{1} << 31, one_generation = uint64_t{1} << 32;
  static uint64_t generation_of(uint64_t state) { return state / one_generation; }
  static uint64_t inside(uint64_t state) { return state % open; }

  std::atomic<uint64_t> state{0};
  std::atomic<int> result{0};
  std::atomic<bool> stop{false};
  std::atomic<bool> parked{false};
  std::atomic<int> sleeping{0};
  std::vector<TaskRange> ranges;  // of the caller and the workers
  Body body = nullptr;
  void* data = nullptr;
  std::mutex mutex;
  std::condition_variable wake;

  void share_out(int tasks) {
    const auto threads = static_cast<int64_t>(ranges.size());
    for (int64_t i = 0; i < threads; ++i)
      ranges[static_cast<size_t>(i)].set(static_cast<int>(i * tasks / threads),
                                         static_cast<int>((i + 1) * tasks / threads));
  }

  void take_tasks(int worker) {
    current_worker = worker;
    const auto own = static_cast<size_t>(worker);
    for (int task = ranges[own].take_first(); task >= 0; task = ranges[own].take_first())
      run_task(task, worker);
    for (size_t i = 1; i < ranges.size(); ++i) {
      TaskRange& other = ranges[(own + i) % ranges.size()];
      for (int task = other.take_last(); task >= 0; task = other.take_last()) run_task(task, worker);
    }
    current_worker = -1;
  }

  void run_task(int task, int worker) {
    const int failed = body(data, task, worker);
    int none = 0;
    if (failed != 0) result.compare_exchange_strong(none, failed);
  }

  /// Waits until the generation differs from `seen`: spins, then sleeps. Returns the new generation.
  uint64_t wait_for_job(uint64_t seen) {
    const auto until = std::chrono::steady_clock::now() + spin_time;
    for (int i = 0; !parked.load(std::memory_order_relaxed); ++i) {
      const uint64_t now = generation_of(state.load(std::memory_order_acquire));
      if (now != seen) return now;
      relax();
      if (i % 64 == 63 && std::chrono::steady_clock::now() > until) break;
    }
    std::unique_lock lock(mutex);
    sleeping.fetch_add(1);
    wake.wait(lock, [&] { return generation_of(state.load()) != seen; });
    sleeping.fetch_sub(1);
    return generation_of(state.load(std::memory_order_acquire));
  }

  /// False: the job of this generation is already closed.
  bool join(uint64_t generation) {
    uint64_t now = state.load(std::memory_order_acquire);
    while (generation_of(now) == generation && (now & open) != 0) {
      if (state.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void leave() { state.fetch_sub(1, std::memory_order_release); }

  void publish() {
    parked.store(false, std::memory_order_relaxed);
    state.fetch_add(one_generation + open);
    wake_sleepers();
  }

  void wake_sleepers() {
    if (sleeping.load() == 0) return;
    std::lock_guard lock(mutex);
    wake.notify_all();
  }

  void close() {
    state.fetch_sub(open, std::memory_order_acq_rel);
    while (inside(state.load(std::memory_order_acquire)) != 0) relax();
  }
};

ThreadPool::ThreadPool(std::unique_ptr<Shared> shared) : shared_(std::move(shared)) {}

// Delegates to a constructor that is done before the first thread starts: if a later thread cannot start, the
// destructor ends the others.
ThreadPool::ThreadPool(int threads) : ThreadPool(std::make_unique<Shared>(std::max(threads, 1))) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  shared_->stop.store(true);
  {
    std::lock_guard lock(shared_->mutex);
    shared_->state.fetch_add(Shared::one_generation);
    shared_->wake.notify_all();
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::work(int worker) {
  uint64_t seen = 0;
  while (true) {
    seen = shared_->wait_for_job(seen);
    if (shared_->stop.load()) return;
    if (!shared_->join(seen)) continue;
    shared_->take_tasks(worker);
    shared_->leave();
  }
}

int ThreadPool::parallel_for(int tasks, Body body, void* data) {
  if (workers_.empty() || tasks <= 1 || current_worker >= 0) {
    const int worker = std::max(current_worker, 0);
    int result = 0;
    for (int task = 0; task < tasks; ++task) {
      const int failed = body(data, task, worker);
      if (result == 0) result = failed;
    }
    return result;
  }
  Shared& shared = *shared_;
  shared.body = body;
  shared.data = data;
  shared.result.store(0, std::memory_order_relaxed);
  shared.share_out(tasks);
  shared.publish();
  shared.take_tasks(0);
  shared.close();
  return shared.result.load(std::memory_order_relaxed);
}

void ThreadPool::park() { shared_->parked.store(true, std::memory_order_relaxed); }

}  // namespace intarsia
