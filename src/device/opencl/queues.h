// Command queues of an OpenCL device.
#pragma once

#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "base/time_span.h"
#include "device/opencl/devices.h"

namespace intarsia {

/// Command queue that runs its commands in order.
class OpenclQueue {
 public:
  /// Makes a queue. Events of a timed one record when they ran.
  static Result<OpenclQueue> make(const OpenclDevice& device, bool is_timed = false);
  OpenclQueue(OpenclQueue&& from) noexcept : api_(from.api_), queue_(std::exchange(from.queue_, nullptr)) {}
  OpenclQueue& operator=(OpenclQueue&& from) noexcept {
    std::swap(api_, from.api_);
    std::swap(queue_, from.queue_);
    return *this;
  }
  ~OpenclQueue() {
    if (queue_ != nullptr) api_->clReleaseCommandQueue(queue_);
  }
  cl_command_queue get() const { return queue_; }

 private:
  OpenclQueue(const OpenclApi* api, cl_command_queue queue) : api_(api), queue_(queue) {}
  const OpenclApi* api_;
  cl_command_queue queue_;
};

/// Pool of queues, each lent to one thread at a time, so that no command ever waits for one of another
/// thread. PoCL's `basic` devices rely on this: their commands run in the enqueuing thread, but a command
/// that must wait for one of another thread is left to that thread, which runs it with its event locked and
/// so waits for itself forever (decision 0026).
class OpenclQueues {
 public:
  /// Exclusive loan of a queue. The pool outlives it.
  class Lent {
   public:
    Lent(Lent&& from) noexcept
        : owner_(std::exchange(from.owner_, nullptr)),
          queue_(std::move(from.queue_)),
          is_timed_(from.is_timed_) {}
    Lent& operator=(Lent&&) = delete;
    ~Lent();
    cl_command_queue get() const { return queue_.get(); }

   private:
    friend class OpenclQueues;
    Lent(OpenclQueues& owner, OpenclQueue queue, bool is_timed)
        : owner_(&owner), queue_(std::move(queue)), is_timed_(is_timed) {}
    OpenclQueues* owner_;
    OpenclQueue queue_;
    bool is_timed_;
  };

  explicit OpenclQueues(const OpenclDevice& device) : device_(device) {}

  const OpenclDevice& device() const { return device_; }
  /// Lends a queue. Events of a timed one record when they ran. Error: the device refuses another queue.
  Result<Lent> lend(bool is_timed = false);

 private:
  const OpenclDevice& device_;
  std::mutex mutex_;
  std::array<std::vector<OpenclQueue>, 2> free_;  // untimed and timed queues
};

/// Returns the span from the start of `first` to the end of `last`, completed events of a timed queue.
/// `enqueued_ns` is when `first` was enqueued; if the events have no times, the span is from then to now.
TimeSpan opencl_times(const OpenclApi& api, cl_event first, cl_event last, int64_t enqueued_ns);

}  // namespace intarsia
