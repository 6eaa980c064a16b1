#include "device/queue.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/core_set.h"
#include "base/threads/fork_count.h"

namespace intarsia {

void Task::wait() const { is_pending_.wait(true, std::memory_order_acquire); }

void Task::run() {
  for (const Task* before : after_) before->wait();
  work_();
  is_pending_.store(false, std::memory_order_release);
  is_pending_.notify_all();
}

struct Queue::State {
  std::mutex mutex;
  std::condition_variable changed;
  Task* first = nullptr;
  Task* last = nullptr;
  bool stop = false;
  std::optional<std::thread> thread;
  uint32_t forks = fork_count();

  void work(const std::optional<CoreSet>& cores) {
    // If the system refuses, the thread runs where its creator may.
    if (cores) static_cast<void>(cores->bind_this_thread());
    while (Task* task = take()) task->run();
  }

  /// Waits for a task; returns null when the queue ends.
  Task* take() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return first != nullptr || stop; });
    Task* task = first;
    if (task != nullptr) first = task->next_;
    return task;
  }
};

Queue::Queue() : state_(std::make_unique<State>()) {}

Queue::~Queue() {
  if (state_->forks != fork_count()) {
    static_cast<void>(state_.release());  // leaks, as the state of the parent's thread cannot be destroyed
    return;
  }
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
  }
  if (state_->thread) state_->thread->join();
}

void Queue::start(const CoreSet* cores) {
  if (state_->forks != fork_count()) {
    static_cast<void>(state_.release());
    state_ = std::make_unique<State>();
  }
  std::lock_guard lock(state_->mutex);
  if (state_->thread) return;
  std::optional<CoreSet> bound;
  if (cores != nullptr) bound = *cores;
  state_->thread.emplace([state = state_.get(), bound] { state->work(bound); });
}

void Queue::enqueue(Task& task, const CoreSet* cores) {
  if (state_->forks != fork_count()) start(cores);
  task.is_pending_.store(true, std::memory_order_relaxed);
  task.next_ = nullptr;
  std::lock_guard lock(state_->mutex);
  (state_->first == nullptr ? state_->first : state_->last->next_) = &task;
  state_->last = &task;
  state_->changed.notify_one();
}

}  // namespace intarsia
