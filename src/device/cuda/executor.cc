#include "device/cuda/executor.h"

#include <array>
#include <map>
#include <mutex>

#include "device/cuda/programs.h"
#include "device/cuda/space.h"
#include "device/launched_region.h"

namespace intarsia {
namespace {

constexpr int oldest_capability = 8;  // major compute capability that the kernels' code needs
constexpr unsigned no_timing = 2;     // CU_EVENT_DISABLE_TIMING
constexpr size_t max_arguments = 1024;

/// State shared by the executables of a device.
struct CudaRuntime {
  CudaRuntime(const CudaDevice& device, CudaQueue queue)
      : device(device), queue(std::move(queue)), programs(device) {}
  const CudaDevice& device;
  CudaQueue queue;  // runs kernels
  CudaPrograms programs;
};

/// Kernels of an executable. The addresses of texts and names are their keys; these stay fixed while its code
/// is loaded.
class CudaKernels {
 public:
  explicit CudaKernels(CudaRuntime& runtime) : runtime_(runtime) {}

  const CudaRuntime& runtime() const { return runtime_; }

  Status make(const Launch& launch) {
    TRY(find(launch));
    return {};
  }

  /// Launches a kernel; call in the device's scope.
  Status launch(const Launch& launch) {
    CudaFunction function = TRY(find(launch));
    std::array<CudaPointer, max_arguments> addresses;
    std::array<void*, max_arguments> arguments;
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const LaunchArgument& argument = launch.arguments[i];
      if (argument.bytes == 0) addresses[i] = CudaMemory::of(argument.value);
      arguments[i] = argument.bytes == 0 ? &addresses[i] : const_cast<void*>(argument.value);
    }
    const auto& [x, y, z] = launch.groups;
    const auto& [items_x, items_y, items_z] = launch.group_items;
    return runtime_.device.check(
        runtime_.device.api->cuLaunchKernel(
            function, static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z),
            static_cast<unsigned>(items_x), static_cast<unsigned>(items_y), static_cast<unsigned>(items_z),
            static_cast<unsigned>(launch.shared_bytes), runtime_.queue.get(), arguments.data(), nullptr),
        "cuLaunchKernel");
  }

 private:
  Result<CudaFunction> find(const Launch& launch) {
    const std::lock_guard lock(mutex_);
    CudaFunction& function = functions_[{launch.program.data(), launch.entry}];
    if (function == nullptr) function = TRY(runtime_.programs.find(launch.program, launch.entry));
    return function;
  }

  CudaRuntime& runtime_;
  std::mutex mutex_;
  std::map<std::pair<const void*, const void*>, CudaFunction> functions_;
};

/// Launcher of one run. The device's queue runs kernels in order, so an event after the last stands for all.
class CudaLauncher : public Launcher {
 public:
  explicit CudaLauncher(CudaKernels& kernels)
      : kernels_(kernels),
        device_(kernels.runtime().device),
        api_(*device_.api),
        scope_(CudaScope::enter(device_)) {}
  ~CudaLauncher() override {
    if (done_ != nullptr) api_.cuEventDestroy(done_);
  }
  CudaLauncher(const CudaLauncher&) = delete;
  CudaLauncher& operator=(const CudaLauncher&) = delete;

  Status launch(const Launch& launch) override {
    if (!scope_) return tl::unexpected(scope_.error());
    if (!has_launched_) begin_ns_ = clock_nanoseconds();
    TRY(kernels_.launch(launch));
    has_launched_ = true;
    return {};
  }

  Status wait() override {
    if (!has_launched_) return {};
    has_launched_ = false;
    if (done_ == nullptr) TRY(device_.check(api_.cuEventCreate(&done_, no_timing), "cuEventCreate"));
    TRY(device_.check(api_.cuEventRecord(done_, kernels_.runtime().queue.get()), "cuEventRecord"));
    return device_.check(api_.cuEventSynchronize(done_), "a kernel");
  }

  /// Returns the span by our clock.
  Result<TimeSpan> wait_timed() override {
    TRY(wait());
    return TimeSpan{begin_ns_, clock_nanoseconds()};
  }

 private:
  CudaKernels& kernels_;
  const CudaDevice& device_;
  const CudaApi& api_;
  Result<CudaScope> scope_;
  CudaEvent done_ = nullptr;
  bool has_launched_ = false;
  int64_t begin_ns_ = 0;  // time of the first launch since the last wait
};

class CudaExecutable : public Executable {
 public:
  CudaExecutable(std::unique_ptr<Executable> region, CudaRuntime& runtime)
      : region_(std::move(region)), kernels_(runtime) {}

  Status make_kernels() {
    KernelMaker maker(kernels_);
    return region_->prepare(maker);
  }

  Status run(const RunContext& context) const override {
    CudaLauncher launcher(kernels_);
    return run_launched(*region_, context, launcher);
  }

  size_t scratch_bytes(int threads) const override { return region_->scratch_bytes(threads); }
  bool has_open_workspace() const override { return region_->has_open_workspace(); }
  Result<uint64_t> open_workspace_bytes(const OpenSizes& sizes) const override {
    return region_->open_workspace_bytes(sizes);
  }

 private:
  std::unique_ptr<Executable> region_;
  mutable CudaKernels kernels_;
};

class CudaExecutor : public Executor {
 public:
  CudaExecutor(const std::string& name, std::shared_ptr<CudaSpace> space, CudaQueue queue)
      : Executor(name, "cuda", space), runtime_(space->device(), std::move(queue)) {}

  Result<std::unique_ptr<Executable>> adapt(std::unique_ptr<Executable> region,
                                            std::span<const std::string>) override {
    auto made = std::make_unique<CudaExecutable>(std::move(region), runtime_);
    TRY(made->make_kernels());
    return made;
  }

 private:
  CudaRuntime runtime_;
};

}  // namespace

Result<std::shared_ptr<Executor>> make_cuda_executor(const DeviceName& name) {
  const size_t number = TRY(name.index());
  if (!name.settings.empty()) return fail("a CUDA device has no settings");
  const std::span<const CudaDevice> devices = TRY(cuda_devices());
  if (number >= devices.size())
    return fail(ErrorKind::not_found, "there are {} CUDA devices: cuda:0 to cuda:{}", devices.size(),
                devices.size() - 1);
  const CudaDevice& device = devices[number];
  if (device.capability_major < oldest_capability)
    return fail(ErrorKind::unsupported,
                "'{}' has compute capability {}.{}; kernels are made for {}.0 and later: use opencl:N",
                device.name, device.capability_major, device.capability_minor, oldest_capability);
  return std::make_shared<CudaExecutor>(name.text, TRY(CudaSpace::make(name.text, device)),
                                        TRY(CudaQueue::make(device)));
}

}  // namespace intarsia
