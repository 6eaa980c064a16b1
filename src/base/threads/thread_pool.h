// Thread pools, which own all threads for parallel loops: each core set has one pool in the process, and all
// parallel loops on these cores run on it.
#pragma once

#include <memory>

#include "base/core_set.h"
#include "base/threads/parallel_loop.h"

namespace intarsia {

/// Workers of a core set, bound to it. Waiting workers spin for some microseconds, then sleep. Callers count
/// as threads of the set: busy callers and running workers together never outnumber its cores.
class ThreadPool {
 public:
  /// Returns the pool of these cores, shared by all users until the last one releases it.
  static std::shared_ptr<ThreadPool> of(const CoreSet& cores);
  /// Makes a pool that is not shared. A loop has at most `threads` threads, its caller included.
  ThreadPool(CoreSet cores, int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  const CoreSet& cores() const;
  int threads() const;
  /// Returns the number of workers started.
  int workers() const;

 private:
  friend class ThreadTeam;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Loops of one caller on a pool. Teams of one pool may run loops at once; a team has one caller at a time.
class ThreadTeam {
 public:
  /// Makes a team of `threads`, the caller included, at most pool->threads(); 1 needs no worker. The pool
  /// starts workers that it lacks. Throws std::system_error if the system refuses more threads.
  ThreadTeam(std::shared_ptr<ThreadPool> pool, int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return size_; }
  const std::shared_ptr<ThreadPool>& pool() const { return pool_; }

  /// Calls `body(data, task, seat)` once for every task in [0, tasks), in any order, on the caller (seat 0)
  /// and on workers (seats below size()); when all are done, returns the first non-zero result, or 0 if there
  /// is none. Allocates nothing. A call from inside a task runs serially.
  using Body = ParallelLoop::Body;
  int parallel_for(int tasks, Body body, void* data);

  /// Puts spinning workers to sleep before a foreign library runs on the same cores.
  void park();

  /// Scope in which the caller is busy even between loops, so that workers leave its core free. In a child of
  /// fork(), which lacks the workers, the team first gets new ones.
  class Busy {
   public:
    explicit Busy(ThreadTeam* team);  // null: does nothing
    ~Busy();
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    ThreadTeam* team_;  // null if the team was already busy
  };

 private:
  void join_pool();
  void rejoin_after_fork();

  std::shared_ptr<ThreadPool> pool_;
  int size_;
  bool is_busy_ = false;
  ParallelLoop* loop_ = nullptr;  // owned by the pool; null for a team of one
};

}  // namespace intarsia
