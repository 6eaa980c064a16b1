// Common parts of regions whose code launches kernels, for all drivers.
#pragma once

#include "device/executable.h"
#include "device/launcher.h"

namespace intarsia {

/// Launcher that makes kernels ready by `Kernels::make(launch)` and launches none.
template <typename Kernels>
class KernelMaker : public Launcher {
 public:
  explicit KernelMaker(Kernels& kernels) : kernels_(kernels) {}
  Status launch(const Launch& launch) override { return kernels_.make(launch); }
  Status wait() override { return {}; }
  Result<TimeSpan> wait_timed() override { return TimeSpan(); }

 private:
  Kernels& kernels_;
};

/// Runs the region to its end. Also waits for kernels launched before an error, as they use the values.
inline Status run_launched(const Executable& region, RunContext context, Launcher& launcher) {
  context.launcher = &launcher;
  const Status launched = region.run(context);
  const Status done = launcher.wait();
  return launched ? done : launched;
}

}  // namespace intarsia
