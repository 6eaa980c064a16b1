#include "device/opencl/queues.h"

#include <optional>

#include "base/clock.h"

namespace intarsia {
namespace {

std::optional<int64_t> time_of(const OpenclApi& api, cl_event event, cl_profiling_info what) {
  cl_ulong time = 0;
  if (api.clGetEventProfilingInfo(event, what, sizeof(time), &time, nullptr) != CL_SUCCESS) return {};
  return static_cast<int64_t>(time);
}

}  // namespace

Result<OpenclQueue> OpenclQueue::make(const OpenclDevice& device, bool is_timed) {
  cl_int code = CL_SUCCESS;
  cl_command_queue queue = device.api->clCreateCommandQueue(device.context, device.id,
                                                            is_timed ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
  TRY(device.check(code, "clCreateCommandQueue"));
  return OpenclQueue(device.api, queue);
}

OpenclQueues::Lent::~Lent() {
  if (owner_ == nullptr) return;
  const std::lock_guard lock(owner_->mutex_);
  owner_->free_[is_timed_ ? 1 : 0].push_back(std::move(queue_));
}

Result<OpenclQueues::Lent> OpenclQueues::lend(bool is_timed) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<OpenclQueue>& free = free_[is_timed ? 1 : 0];
    if (!free.empty()) {
      OpenclQueue queue = std::move(free.back());
      free.pop_back();
      return Lent(*this, std::move(queue), is_timed);
    }
  }
  return Lent(*this, TRY(OpenclQueue::make(device_, is_timed)), is_timed);
}

/// Converts device times to our clock: the time that the device calls queued is `enqueued_ns`.
TimeSpan opencl_times(const OpenclApi& api, cl_event first, cl_event last, int64_t enqueued_ns) {
  const std::optional<int64_t> queued = time_of(api, first, CL_PROFILING_COMMAND_QUEUED),
                               begin = time_of(api, first, CL_PROFILING_COMMAND_START),
                               end = time_of(api, last, CL_PROFILING_COMMAND_END);
  if (!queued || !begin || !end) return {enqueued_ns, clock_nanoseconds()};
  return {enqueued_ns + (*begin - *queued), enqueued_ns + (*end - *queued)};
}

}  // namespace intarsia
