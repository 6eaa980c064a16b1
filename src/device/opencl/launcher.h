// Kernel launches on an OpenCL device.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "device/launcher.h"
#include "device/opencl/programs.h"
#include "device/opencl/space.h"

namespace intarsia {

/// State shared by the executables of a device.
struct OpenclRuntime {
  explicit OpenclRuntime(OpenclQueues& queues)
      : device(queues.device()), queues(queues), programs(queues.device()) {}

  const OpenclDevice& device;
  OpenclQueues& queues;
  OpenclPrograms programs;
};

/// Kernels of an executable. The addresses of texts and names are their keys; these stay fixed while its code
/// is loaded. Thread-safe.
class OpenclKernels {
 public:
  explicit OpenclKernels(OpenclRuntime& runtime) : runtime_(runtime), api_(*runtime.device.api) {}
  ~OpenclKernels();
  OpenclKernels(const OpenclKernels&) = delete;
  OpenclKernels& operator=(const OpenclKernels&) = delete;

  /// Launches a kernel after the event `after` (null: none), whose failure becomes its own. `done` gets the
  /// event of this launch, owned by the caller.
  Status launch(const Launch& launch, cl_command_queue queue, cl_event after, cl_event* done);
  /// Prepares all that a launch needs, without launching.
  Status make(const Launch& launch);

 private:
  Result<cl_kernel> find(const Launch& launch);
  Status set_arguments(cl_kernel kernel, const Launch& launch);

  OpenclRuntime& runtime_;
  const OpenclApi& api_;
  std::mutex mutex_;
  std::map<std::pair<const void*, const void*>, cl_kernel> kernels_;
};

/// Launcher of one run. Each launch waits for its predecessor, whose failure becomes its own, so the last one
/// stands for all.
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
  /// Waits for the last launch; on error, forgets all events.
  Status wait_for_last();
  /// Returns the reason for a failure, if the driver knows it.
  std::optional<cl_int> status_of(cl_event event) const;
  void forget();

  const OpenclDevice& device_;
  OpenclKernels& kernels_;
  const OpenclApi& api_;
  OpenclQueues::Lent queue_;
  cl_event first_ = nullptr, last_ = nullptr;  // first and last launch since the last wait
  int64_t enqueued_ns_ = 0;                    // time of the first launch, by our clock
};

}  // namespace intarsia
