#include "device/opencl/executor.h"

#include "device/launched_region.h"
#include "device/opencl/cores.h"
#include "device/opencl/launcher.h"
#include "device/opencl/space.h"

namespace intarsia {
namespace {

class OpenclExecutable : public Executable {
 public:
  OpenclExecutable(std::unique_ptr<Executable> region, OpenclRuntime& runtime)
      : region_(std::move(region)), runtime_(runtime), kernels_(runtime) {}

  Status make_kernels() {
    KernelMaker maker(kernels_);
    return region_->prepare(maker);
  }

  Status run(const RunContext& context) const override {
    OpenclLauncher launcher(runtime_.device, kernels_, TRY(runtime_.queues.lend(context.trace != nullptr)));
    return run_launched(*region_, context, launcher);
  }

  size_t scratch_bytes(int threads) const override { return region_->scratch_bytes(threads); }
  bool has_open_workspace() const override { return region_->has_open_workspace(); }
  Result<uint64_t> open_workspace_bytes(const OpenSizes& sizes) const override {
    return region_->open_workspace_bytes(sizes);
  }

 private:
  std::unique_ptr<Executable> region_;
  OpenclRuntime& runtime_;
  mutable OpenclKernels kernels_;
};

class OpenclExecutor : public Executor {
 public:
  OpenclExecutor(const std::string& name, const std::shared_ptr<OpenclSpace>& space,
                 const std::optional<CoreSet>& cores)
      : Executor(name, "opencl", space, cores), runtime_(space->queues()) {}

  Result<std::unique_ptr<Executable>> adapt(std::unique_ptr<Executable> region,
                                            std::span<const std::string>) override {
    auto made = std::make_unique<OpenclExecutable>(std::move(region), runtime_);
    TRY(made->make_kernels());
    return made;
  }

  /// Runs the region on the executor's cores: a device without threads computes in this thread.
  Status run(const Executable& executable, const RunContext& context) override {
    std::optional<BoundThread> bound;
    if (cores() != nullptr) bound.emplace(*cores());
    return executable.run(context);
  }

 private:
  OpenclRuntime runtime_;
};

}  // namespace

Result<std::shared_ptr<Executor>> make_opencl_executor(const DeviceName& name) {
  const OpenclDevice& device = *TRY(find_opencl_device(name));
  TRY(pin_to_cores(device, name.cores ? &*name.cores : nullptr));
  return std::make_shared<OpenclExecutor>(name.text, TRY(OpenclSpace::make(name.text, device)), name.cores);
}

}  // namespace intarsia
