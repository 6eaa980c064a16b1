#include "device/opencl_executor.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "device/launcher.h"
#include "device/opencl_programs.h"
#include "device/opencl_space.h"

namespace intarsia {
namespace {

/// What executables of a device share.
struct OpenclRuntime {
  OpenclRuntime(const OpenclDevice& device, OpenclQueue queue)
      : device(device), queue(std::move(queue)), programs(device) {}
  const OpenclDevice& device;
  OpenclQueue queue;  // of kernels
  OpenclPrograms programs;
};

/// The kernels of an executable. Where texts and names lie is their key: that is fixed as long as its code is
/// loaded.
class OpenclKernels {
 public:
  explicit OpenclKernels(OpenclRuntime& runtime) : runtime_(runtime), api_(*runtime.device.api) {}
  ~OpenclKernels() {
    for (const auto& [key, kernel] : kernels_) api_.clReleaseKernel(kernel);
  }
  OpenclKernels(const OpenclKernels&) = delete;
  OpenclKernels& operator=(const OpenclKernels&) = delete;

  /// `after` (null: none) fails this launch if it failed; `done`: of this launch.
  Status launch(const Launch& launch, cl_event after, cl_event* done) {
    TRY(runtime_.device.check_process());
    // A kernel keeps its arguments until it is enqueued.
    const std::lock_guard lock(mutex_);
    cl_kernel kernel = TRY(find(launch));
    TRY(set_arguments(kernel, launch));
    std::array<size_t, 3> items{};
    for (size_t i = 0; i < items.size(); ++i) items[i] = launch.groups[i] * launch.group_items[i];
    return runtime_.device.check(
        api_.clEnqueueNDRangeKernel(runtime_.queue.get(), kernel, static_cast<cl_uint>(items.size()), nullptr,
                                    items.data(), launch.group_items.data(), after == nullptr ? 0 : 1,
                                    after == nullptr ? nullptr : &after, done),
        "clEnqueueNDRangeKernel");
  }

  Status make(const Launch& launch) {
    const std::lock_guard lock(mutex_);
    TRY(find(launch));
    return {};
  }

 private:
  Result<cl_kernel> find(const Launch& launch) {
    cl_kernel& kernel = kernels_[{launch.program.data(), launch.entry}];
    if (kernel != nullptr) return kernel;
    cl_program program = TRY(runtime_.programs.build(launch.program));
    cl_int code = CL_SUCCESS;
    cl_kernel made = api_.clCreateKernel(program, launch.entry, &code);
    TRY(runtime_.device.check(code, "clCreateKernel"));
    return kernel = made;
  }

  /// The last parameter of every kernel is its group's memory.
  Status set_arguments(cl_kernel kernel, const Launch& launch) {
    cl_uint i = 0;
    for (const LaunchArgument& argument : launch.arguments) {
      cl_mem memory = argument.bytes == 0 ? OpenclMemory::of(argument.value) : nullptr;
      const size_t bytes = argument.bytes == 0 ? sizeof(memory) : argument.bytes;
      const void* value = argument.bytes == 0 ? &memory : argument.value;
      TRY(runtime_.device.check(api_.clSetKernelArg(kernel, i++, bytes, value), "clSetKernelArg"));
    }
    const size_t shared = std::max<size_t>(launch.shared_bytes, 1);
    return runtime_.device.check(api_.clSetKernelArg(kernel, i, shared, nullptr), "clSetKernelArg");
  }

  OpenclRuntime& runtime_;
  const OpenclApi& api_;
  std::mutex mutex_;
  std::map<std::pair<const void*, const void*>, cl_kernel> kernels_;
};

/// Of one run: each launch waits for the one before it, whose failure becomes its own, so the last stands for
/// all.
class OpenclLauncher : public Launcher {
 public:
  OpenclLauncher(OpenclRuntime& runtime, OpenclKernels& kernels)
      : runtime_(runtime), kernels_(kernels), api_(*runtime.device.api) {}
  ~OpenclLauncher() override { forget(); }
  OpenclLauncher(const OpenclLauncher&) = delete;
  OpenclLauncher& operator=(const OpenclLauncher&) = delete;

  Status launch(const Launch& launch) override {
    cl_event done = nullptr;
    TRY(kernels_.launch(launch, last_, &done));
    forget();
    last_ = done;
    return {};
  }

  Status wait() override {
    if (last_ == nullptr) return {};
    const cl_int code = api_.clWaitForEvents(1, &last_);
    forget();
    return runtime_.device.check(code, "a kernel");
  }

 private:
  void forget() {
    if (last_ != nullptr) api_.clReleaseEvent(last_);
    last_ = nullptr;
  }

  OpenclRuntime& runtime_;
  OpenclKernels& kernels_;
  const OpenclApi& api_;
  cl_event last_ = nullptr;
};

/// Makes kernels, and launches none.
class OpenclMaker : public Launcher {
 public:
  explicit OpenclMaker(OpenclKernels& kernels) : kernels_(kernels) {}
  Status launch(const Launch& launch) override { return kernels_.make(launch); }
  Status wait() override { return {}; }

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
    OpenclLauncher launcher(runtime_, kernels_);
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

Result<std::shared_ptr<Executor>> make_opencl_executor(const std::string& name, size_t number) {
  const std::span<const OpenclDevice> devices = TRY(opencl_devices());
  if (number >= devices.size())
    return fail(ErrorKind::not_found, "there are {} OpenCL devices: opencl:0 to opencl:{}", devices.size(),
                devices.size() - 1);
  const OpenclDevice& device = devices[number];
  return std::make_shared<OpenclExecutor>(name, TRY(OpenclSpace::make(name, device)),
                                          TRY(OpenclQueue::make(device)));
}

}  // namespace intarsia
