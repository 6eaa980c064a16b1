// The only owner of threads: a session (or stage) has one pool, and everything parallel runs on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace intarsia {

/// A fixed set of workers plus the calling thread. Waiting workers spin for some microseconds, then sleep.
class ThreadPool {
 public:
  /// `threads` counts the caller: 1 makes no workers. Throws std::system_error when the system refuses more
  /// threads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls `body(data, task, worker)` once for every task in [0, tasks), in any order, on the caller (worker
  /// 0) and the workers; returns when all are done, with the first non-zero result, 0 if none. Allocates
  /// nothing. A call from inside a task runs serially on that worker. One caller at a time.
  using Body = int (*)(void* data, int task, int worker);
  int parallel_for(int tasks, Body body, void* data);

  /// Puts spinning workers to sleep before a foreign library runs on the same cores.
  void park();

 private:
  struct Shared;
  explicit ThreadPool(std::unique_ptr<Shared> shared);
  void work(int worker);

  std::unique_ptr<Shared> shared_;
  std::vector<std::thread> workers_;
};

}  // namespace intarsia
