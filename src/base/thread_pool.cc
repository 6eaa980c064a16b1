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

constexpr std::chrono::microseconds spin_time{50};

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

// A job is published by raising `generation`; workers take tasks by counting `next` up, and the last worker to leave
// lets the caller go on. Lock order: `mutex` alone, only for sleeping and waking.
struct ThreadPool::Shared {
  std::atomic<uint64_t> generation{0};
  std::atomic<int> next{0};
  std::atomic<int> busy{0};
  std::atomic<int> result{0};
  std::atomic<bool> stop{false};
  std::atomic<bool> parked{false};
  std::atomic<int> sleeping{0};
  int tasks = 0;
  Body body = nullptr;
  void* data = nullptr;
  std::mutex mutex;
  std::condition_variable wake;

  void take_tasks(int worker) {
    current_worker = worker;
    for (int task = next.fetch_add(1, std::memory_order_relaxed); task < tasks;
         task = next.fetch_add(1, std::memory_order_relaxed)) {
      const int failed = body(data, task, worker);
      int none = 0;
      if (failed != 0) result.compare_exchange_strong(none, failed);
    }
    current_worker = -1;
  }

  /// Waits until the generation differs from `seen`: spins, then sleeps. Returns the new generation.
  uint64_t wait_for_job(uint64_t seen) {
    const auto until = std::chrono::steady_clock::now() + spin_time;
    for (int i = 0; !parked.load(std::memory_order_relaxed); ++i) {
      const uint64_t now = generation.load(std::memory_order_acquire);
      if (now != seen) return now;
      relax();
      if (i % 64 == 63 && std::chrono::steady_clock::now() > until) break;
    }
    std::unique_lock lock(mutex);
    sleeping.fetch_add(1);
    wake.wait(lock, [&] { return generation.load() != seen; });
    sleeping.fetch_sub(1);
    return generation.load(std::memory_order_acquire);
  }

  void publish() {
    parked.store(false, std::memory_order_relaxed);
    generation.fetch_add(1);
    if (sleeping.load() > 0) {
      std::lock_guard lock(mutex);
      wake.notify_all();
    }
  }
};

ThreadPool::ThreadPool(int threads) : shared_(std::make_unique<Shared>()) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  shared_->stop.store(true);
  {
    std::lock_guard lock(shared_->mutex);
    shared_->generation.fetch_add(1);
    shared_->wake.notify_all();
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::work(int worker) {
  uint64_t seen = 0;
  while (true) {
    seen = shared_->wait_for_job(seen);
    if (shared_->stop.load()) return;
    shared_->take_tasks(worker);
    shared_->busy.fetch_sub(1, std::memory_order_release);
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
  shared.tasks = tasks;
  shared.body = body;
  shared.data = data;
  shared.result.store(0, std::memory_order_relaxed);
  shared.next.store(0, std::memory_order_relaxed);
  shared.busy.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  shared.publish();
  shared.take_tasks(0);
  // Every worker must have seen this job before the next one may overwrite it.
  while (shared.busy.load(std::memory_order_acquire) != 0) relax();
  return shared.result.load(std::memory_order_relaxed);
}

void ThreadPool::park() { shared_->parked.store(true, std::memory_order_relaxed); }

}  // namespace intarsia
