// Queues of work that runs in order, in a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace intarsia {

class CoreSet;

/// Piece of work, and the event of its completion. It may be enqueued again whenever it is done.
class Task {
 public:
  /// Makes a task. `work` does not throw. `after` are tasks that must be done first; they outlive this one.
  Task(std::function<void()> work, std::vector<const Task*> after)
      : work_(std::move(work)), after_(std::move(after)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// Marks a task that is on no queue as pending: others wait for it until run() has returned.
  void expect() { is_pending_.store(true, std::memory_order_relaxed); }
  /// Runs the work in the calling thread, after the tasks it waits for.
  void run();
  /// Sleeps until the task is done; returns at once if it was never enqueued.
  void wait() const;

 private:
  friend class Queue;

  std::function<void()> work_;
  std::vector<const Task*> after_;
  std::atomic<bool> is_pending_{false};
  Task* next_ = nullptr;  // next task in its queue
};

/// Queue that runs tasks one after the other, in the order of enqueuing, in its own thread, which sleeps if
/// there are none. A task must be enqueued after the tasks it waits for, so that queues that wait for each
/// other never deadlock. Allocates nothing for a task.
class Queue {
 public:
  Queue();
  /// Runs the tasks that are enqueued, then ends the thread.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Starts its thread, bound to `cores` (null: it runs wherever the calling thread may), unless it has one
  /// in this process, also after a fork(). Throws std::system_error if the system refuses.
  void start(const CoreSet* cores);
  /// Enqueues a task; start() was called before. After a fork(), starts the thread again.
  void enqueue(Task& task, const CoreSet* cores);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace intarsia
