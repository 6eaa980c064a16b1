// Cost that our OpenCL device adds to bare calls: a launch, and a copy of 1 MB. Prints one JSON object; aims:
// a launch at most 2 us above the bare one, a copy at least 0.9 of its speed.
//
//   build/bin/bench_opencl [DEVICE]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "device/by_name/devices.h"
#include "device/launcher.h"
#include "device/opencl/programs.h"
#include "device/opencl/space.h"

namespace {

using namespace intarsia;

constexpr int launches = 200, rounds = 300;
constexpr size_t megabyte = 1 << 20;
constexpr std::string_view program_text = "__kernel void nothing(__global float* x, __local int* unused) {}";

/// Executable that launches the empty kernel again and again.
class Launching : public Executable {
 public:
  explicit Launching(void* memory) : argument_{memory, 0} {}
  Status run(const RunContext& context) const override {
    for (int i = 0; i < launches; ++i)
      TRY(context.launcher->launch(
          {.program = program_text, .entry = "nothing", .arguments = {&argument_, 1}}));
    return {};
  }

 private:
  LaunchArgument argument_;
};

/// Returns the least time of a call, in microseconds.
double least_us(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  double least = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const Clock::time_point begin = Clock::now();
    call();
    least = std::min(least, std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  return least;
}

Status measure(const std::string& name) {
  const std::shared_ptr<Executor> executor = TRY(make_device(name));
  auto* space = dynamic_cast<OpenclSpace*>(executor->space().get());
  if (space == nullptr) return fail("'{}' is not an OpenCL device", name);
  const OpenclDevice& device = space->device();
  const OpenclApi& api = *device.api;
  const Memory memory = TRY(space->allocate(megabyte));
  cl_mem buffer = OpenclMemory::of(memory.handle());
  const OpenclQueue queue = TRY(OpenclQueue::make(device));

  OpenclPrograms programs(device);
  cl_int code = CL_SUCCESS;
  cl_kernel kernel = api.clCreateKernel(TRY(programs.build(program_text)), "nothing", &code);
  TRY(device.check(code, "clCreateKernel"));
  const size_t one = 1;
  const double bare_launch = least_us([&] {
    for (int i = 0; i < launches; ++i) {
      api.clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
      api.clSetKernelArg(kernel, 1, 1, nullptr);
      api.clEnqueueNDRangeKernel(queue.get(), kernel, 1, nullptr, &one, &one, 0, nullptr, nullptr);
    }
    api.clFinish(queue.get());
  });
  api.clReleaseKernel(kernel);
  const auto executable = TRY(executor->adapt(std::make_unique<Launching>(memory.handle()), {}));
  const double launch = least_us([&] { static_cast<void>(executor->run(*executable, {})); });

  const std::vector<std::byte> host(megabyte);
  const double bare_copy = least_us([&] {
    api.clEnqueueWriteBuffer(queue.get(), buffer, CL_TRUE, 0, megabyte, host.data(), 0, nullptr, nullptr);
  });
  const double copy =
      least_us([&] { static_cast<void>(space->upload({memory.handle(), 0}, host.data(), megabyte)); });
  std::printf(
      "{\"device\": \"%s\", \"bare_launch_us\": %.2f, \"launch_us\": %.2f, \"bare_copy_us\": %.1f, "
      "\"copy_us\": %.1f, \"copy_speed\": %.3f}\n",
      device.name.c_str(), bare_launch / launches, launch / launches, bare_copy, copy, bare_copy / copy);
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  const Status measured = measure(count > 1 ? arguments[1] : "opencl:0");
  if (measured) return 0;
  std::fprintf(stderr, "error: %s\n", measured.error().message.c_str());
  return 1;
}
