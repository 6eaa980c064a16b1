// Work that is done in order, beside whoever enqueued it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace intarsia {

class CoreSet;

/// A piece of work and the event that it is done: enqueued again and again, each time when it is done.
class Task {
 public:
  /// `work` does not throw. `after`: tasks that must be done before; they outlive this.
  Task(std::function<void()> work, std::vector<const Task*> after)
      : work_(std::move(work)), after_(std::move(after)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// Sleeps until it is done; returns at once when it was never enqueued.
  void wait() const;

 private:
  friend class Queue;
  void run();

  std::function<void()> work_;
  std::vector<const Task*> after_;
  std::atomic<bool> is_pending_{false};
  Task* next_ = nullptr;  // in its queue
};

/// Tasks run one after the other, in the order in which they were enqueued, in a thread of the queue's own,
/// which sleeps when there are none. Whatever a task waits for must have been enqueued before it: so queues
/// that wait for each other never stand still. Allocates nothing for a task.
class Queue {
 public:
  Queue();
  /// After the tasks that are enqueued.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Starts its thread, bound to `cores` (null: it runs wherever the calling thread may), unless it has one.
  /// Again after a fork(). Throws std::system_error when the system refuses.
  void start(const CoreSet* cores);
  /// Starts as above if need be.
  void enqueue(Task& task, const CoreSet* cores);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace intarsia
