// Launches on an OpenCL device.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "device/launcher.h"
#include "device/opencl_programs.h"
#include "device/opencl_space.h"

namespace intarsia {

/// What executables of a device share.
struct OpenclRuntime {
  explicit OpenclRuntime(OpenclQueues& queues)
      : device(queues.device()), queues(queues), programs(queues.device()) {}

  const OpenclDevice& device;
  OpenclQueues& queues;
  OpenclPrograms programs;
};

/// The kernels of an executable. Where texts and names lie is their key: that is fixed as long as its code is
/// loaded. Thread-safe.
class OpenclKernels {
 public:
  explicit OpenclKernels(OpenclRuntime& runtime) : runtime_(runtime), api_(*runtime.device.api) {}
  ~OpenclKernels();
  OpenclKernels(const OpenclKernels&) = delete;
  OpenclKernels& operator=(const OpenclKernels&) = delete;

  /// `after` (null: none) fails this launch if it failed; `done`: of this launch, the caller's.
  Status launch(const Launch& launch, cl_command_queue queue, cl_event after, cl_event* done);
  /// All that a launch needs, without launching.
  Status make(const Launch& launch);

 private:
  Result<cl_kernel> find(const Launch& launch);
  Status set_arguments(cl_kernel kernel, const Launch& launch);

  OpenclRuntime& runtime_;
  const OpenclApi& api_;
  std::mutex mutex_;
  std::map<std::pair<const void*, const void*>, cl_kernel> kernels_;
};

/// Of one run: each launch waits for the one before it, whose failure becomes its own, so the last stands for
/// all.
class OpenclLauncher : public Launcher {
 public:
  OpenclLauncher(const OpenclDevice& device, OpenclKernels& kernels, OpenclQueues::Lent queue)
      : device_(device), kernels_(kernels), api_(*device.api), queue_(std::move(queue)) {}
  ~OpenclLauncher() override { forget(); }
  OpenclLauncher(const OpenclLauncher&) = delete;
  OpenclLauncher& operator=(const OpenclLauncher&) = delete;

  Status launch(const Launch& launch) override;
  Status wait() override;
  Result<TimeSpan> wait_timed() override;

 private:
  /// An error leaves no event.
  Status wait_for_last();
  /// Why it failed, if the driver knows.
  std::optional<cl_int> status_of(cl_event event) const;
  void forget();

  const OpenclDevice& device_;
  OpenclKernels& kernels_;
  const OpenclApi& api_;
  OpenclQueues::Lent queue_;
  cl_event first_ = nullptr, last_ = nullptr;  // since the last wait
  int64_t enqueued_ns_ = 0;                    // the first, by our clock
};

}  // namespace intarsia
