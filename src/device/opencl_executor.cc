#include "device/opencl_executor.h"

#include "device/opencl_launcher.h"
#include "device/opencl_space.h"

namespace intarsia {
namespace {

/// Makes kernels, and launches none.
class OpenclMaker : public Launcher {
 public:
  explicit OpenclMaker(OpenclKernels& kernels) : kernels_(kernels) {}
  Status launch(const Launch& launch) override { return kernels_.make(launch); }
  Status wait() override { return {}; }
  Result<TimeSpan> wait_timed() override { return TimeSpan(); }

 private:
  OpenclKernels& kernels_;
};

class OpenclExecutable : public Executable {
 public:
  OpenclExecutable(std::unique_ptr<Executable> region, OpenclRuntime& runtime)
      : region_(std::move(region)), runtime_(runtime), kernels_(runtime) {}

  Status make_kernels() {
    OpenclMaker maker(kernels_);
    return region_->prepare(maker);
  }

  /// What was launched before an error is waited for, too: it uses the values.
  Status run(const RunContext& context) const override {
    OpenclLauncher launcher(runtime_.device, kernels_, TRY(runtime_.queue(context.trace != nullptr)));
    RunContext on_device = context;
    on_device.launcher = &launcher;
    const Status launched = region_->run(on_device);
    const Status done = launcher.wait();
    return launched ? done : launched;
  }

  size_t scratch_bytes(int threads) const override { return region_->scratch_bytes(threads); }

 private:
  std::unique_ptr<Executable> region_;
  OpenclRuntime& runtime_;
  mutable OpenclKernels kernels_;
};

class OpenclExecutor : public Executor {
 public:
  OpenclExecutor(const std::string& name, std::shared_ptr<OpenclSpace> space, OpenclQueue queue)
      : Executor(name, "opencl", space), runtime_(space->device(), std::move(queue)) {}

  Result<std::unique_ptr<Executable>> adapt(std::unique_ptr<Executable> region,
                                            std::span<const std::string>) override {
    auto made = std::make_unique<OpenclExecutable>(std::move(region), runtime_);
    TRY(made->make_kernels());
    return made;
  }

 private:
  OpenclRuntime runtime_;
};

}  // namespace

Result<std::shared_ptr<Executor>> make_opencl_executor(const std::string& name) {
  const OpenclDevice& device = *TRY(find_opencl_device(name));
  return std::make_shared<OpenclExecutor>(name, TRY(OpenclSpace::make(name, device)),
                                          TRY(OpenclQueue::make(device)));
}

}  // namespace intarsia
