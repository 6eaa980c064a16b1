// The only owner of threads for parallel loops: a core set has one pool in the process, and everything
// parallel on these cores runs on it.
#pragma once

#include <memory>

#include "base/core_set.h"
#include "base/parallel_loop.h"

namespace intarsia {

/// The workers of a core set, bound to it. Waiting workers spin for some microseconds, then sleep. Callers
/// count as threads of the set: together with those who are busy no more workers run than it has cores.
class ThreadPool {
 public:
  /// The pool of these cores, which all who ask share until the last one lets go of it.
  static std::shared_ptr<ThreadPool> of(const CoreSet& cores);
  /// A pool that is nobody else's. A loop has at most `threads` threads, its caller included.
  ThreadPool(CoreSet cores, int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  const CoreSet& cores() const;
  int threads() const;
  /// How many workers it has started.
  int workers() const;

 private:
  friend class ThreadTeam;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// One caller's loops on a pool. Teams of one pool may run loops at once; a team has one caller at a time.
class ThreadTeam {
 public:
  /// `threads` counts the caller: 1 needs no worker, more than pool->threads() are as many. The pool starts
  /// the workers that it lacks. Throws std::system_error when the system refuses more threads.
  ThreadTeam(std::shared_ptr<ThreadPool> pool, int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return size_; }
  const std::shared_ptr<ThreadPool>& pool() const { return pool_; }

  /// Calls `body(data, task, seat)` once for every task in [0, tasks), in any order, on the caller (seat 0)
  /// and on workers (seats below size()); returns when all are done, with the first non-zero result, 0 if
  /// none. Allocates nothing. A call from inside a task runs serially.
  using Body = ParallelLoop::Body;
  int parallel_for(int tasks, Body body, void* data);

  /// Puts spinning workers to sleep before a foreign library runs on the same cores.
  void park();

  /// While it lives, the caller is busy also between loops, so that no worker takes its core. In a child
  /// of fork(), where the workers are not, the team first gets new ones.
  class Busy {
   public:
    explicit Busy(ThreadTeam* team);  // null: nothing to do
    ~Busy();
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    ThreadTeam* team_;  // null: the team was busy before
  };

 private:
  void join_pool();
  void rejoin_after_fork();

  std::shared_ptr<ThreadPool> pool_;
  int size_;
  bool is_busy_ = false;
  ParallelLoop* loop_ = nullptr;  // the pool's; null for a team of one
};

}  // namespace intarsia
