// Lock whose owner wakes other threads once it is free: a thread woken earlier runs into it and sleeps again.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/clock.h"

namespace intarsia {

/// Event that threads wait for, all under locks of one mutex.
struct WakingEvent {
  std::condition_variable condition;
  uint32_t waiting = 0;  // number of threads
};

/// Lock like std::unique_lock. Waits and unlocks wake the threads that its owner promised to wake.
class WakingLock {
 public:
  explicit WakingLock(std::mutex& mutex) : lock_(mutex) {}
  ~WakingLock() {
    if (lock_.owns_lock()) unlock();
  }
  WakingLock(const WakingLock&) = delete;
  WakingLock& operator=(const WakingLock&) = delete;

  void lock() { lock_.lock(); }
  void unlock() {
    lock_.unlock();
    wake_promised();
  }

  void wake_one(WakingEvent& event) { promise({&event, false}); }
  void wake_all(WakingEvent& event) { promise({&event, true}); }

  /// Waits until a steady clock time (INT64_MAX: forever); false if that has passed. May wake spuriously.
  bool wait_until(WakingEvent& event, int64_t until) {
    if (until != INT64_MAX && clock_nanoseconds() >= until) return false;
    wake_promised();
    ++event.waiting;
    if (until == INT64_MAX)
      event.condition.wait(lock_);
    else
      event.condition.wait_until(lock_,
                                 std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until)));
    --event.waiting;
    return true;
  }

  /// Waits until `ready` holds. Returns the nanoseconds spent waiting.
  template <typename Ready>
  int64_t wait(WakingEvent& event, Ready ready) {
    if (ready()) return 0;
    const int64_t begin = clock_nanoseconds();
    while (!ready()) wait_until(event, INT64_MAX);
    return clock_nanoseconds() - begin;
  }

 private:
  struct Promise {
    WakingEvent* event;
    bool is_to_all;
  };

  void promise(Promise promise) {
    if (promise.event->waiting == 0) return;
    if (count_ == promises_.size()) wake_promised();  // waking early only costs time
    promises_[count_++] = promise;
  }

  void wake_promised() {
    for (size_t i = 0; i < count_; ++i) {
      std::condition_variable& condition = promises_[i].event->condition;
      if (promises_[i].is_to_all)
        condition.notify_all();
      else
        condition.notify_one();
    }
    count_ = 0;
  }

  std::unique_lock<std::mutex> lock_;
  std::array<Promise, 4> promises_{};
  size_t count_ = 0;
};

}  // namespace intarsia
