// A region whose code launches kernels on a device.
#pragma once

#include <memory>

#include "device/executable.h"
#include "device/launcher.h"

namespace intarsia {

/// `Kernels` keeps the kernels of a region: `make(launch)` makes one ready, and `Kernels::Run`, constructed
/// from a Kernels&, is the launcher of one run.
template <typename Kernels>
class LaunchedRegion : public Executable {
 public:
  template <typename... Arguments>
  explicit LaunchedRegion(std::unique_ptr<Executable> region, Arguments&&... of_kernels)
      : region_(std::move(region)), kernels_(std::forward<Arguments>(of_kernels)...) {}

  /// Before the first run.
  Status make_kernels() {
    Maker maker(kernels_);
    return region_->prepare(maker);
  }

  /// What was launched before an error is waited for, too: it uses the values.
  Status run(const RunContext& context) const override {
    typename Kernels::Run launcher(kernels_);
    RunContext on_device = context;
    on_device.launcher = &launcher;
    const Status launched = region_->run(on_device);
    const Status done = launcher.wait();
    return launched ? done : launched;
  }

  size_t scratch_bytes(int threads) const override { return region_->scratch_bytes(threads); }

 private:
  class Maker : public Launcher {
   public:
    explicit Maker(Kernels& kernels) : kernels_(kernels) {}
    Status launch(const Launch& launch) override { return kernels_.make(launch); }
    Status wait() override { return {}; }

   private:
    Kernels& kernels_;
  };

  std::unique_ptr<Executable> region_;
  mutable Kernels kernels_;  // thread-safe
};

}  // namespace intarsia
