#include "device/opencl/launcher.h"

#include <algorithm>
#include <array>

#include "base/clock.h"

namespace intarsia {

OpenclKernels::~OpenclKernels() {
  for (const auto& [key, kernel] : kernels_) api_.clReleaseKernel(kernel);
}

Status OpenclKernels::launch(const Launch& launch, cl_command_queue queue, cl_event after, cl_event* done) {
  TRY(runtime_.device.check_process());
  // Locks until the launch, as the kernel object stores its arguments.
  const std::lock_guard lock(mutex_);
  cl_kernel kernel = TRY(find(launch));
  TRY(set_arguments(kernel, launch));
  std::array<size_t, 3> items{};
  for (size_t i = 0; i < items.size(); ++i) items[i] = launch.groups[i] * launch.group_items[i];
  return runtime_.device.check(
      api_.clEnqueueNDRangeKernel(queue, kernel, static_cast<cl_uint>(items.size()), nullptr, items.data(),
                                  launch.group_items.data(), after == nullptr ? 0 : 1,
                                  after == nullptr ? nullptr : &after, done),
      "clEnqueueNDRangeKernel");
}

Status OpenclKernels::make(const Launch& launch) {
  const std::lock_guard lock(mutex_);
  TRY(find(launch));
  return {};
}

Result<cl_kernel> OpenclKernels::find(const Launch& launch) {
  cl_kernel& kernel = kernels_[{launch.program.data(), launch.entry}];
  if (kernel != nullptr) return kernel;
  cl_program program = TRY(runtime_.programs.build(launch.program));
  cl_int code = CL_SUCCESS;
  cl_kernel made = api_.clCreateKernel(program, launch.entry, &code);
  TRY(runtime_.device.check(code, "clCreateKernel"));
  return kernel = made;
}

/// Sets the arguments; the last parameter of each kernel is the memory of its group.
Status OpenclKernels::set_arguments(cl_kernel kernel, const Launch& launch) {
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

Status OpenclLauncher::launch(const Launch& launch) {
  cl_event done = nullptr;
  const int64_t now = clock_nanoseconds();
  TRY(kernels_.launch(launch, queue_.get(), last_, &done));
  if (first_ == nullptr) {
    first_ = done;
    enqueued_ns_ = now;
  } else if (last_ != first_) {
    api_.clReleaseEvent(last_);
  }
  last_ = done;
  return {};
}

Status OpenclLauncher::wait() {
  TRY(wait_for_last());
  forget();
  return {};
}

Result<TimeSpan> OpenclLauncher::wait_timed() {
  TRY(wait_for_last());
  const TimeSpan span = last_ == nullptr ? TimeSpan() : opencl_times(api_, first_, last_, enqueued_ns_);
  forget();
  return span;
}

Status OpenclLauncher::wait_for_last() {
  if (last_ == nullptr) return {};
  cl_int code = api_.clWaitForEvents(1, &last_);
  if (code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) code = status_of(last_).value_or(code);
  if (code != CL_SUCCESS) forget();
  return device_.check(code, "a kernel");
}

std::optional<cl_int> OpenclLauncher::status_of(cl_event event) const {
  cl_int status = CL_SUCCESS;
  const cl_int asked =
      api_.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr);
  return asked == CL_SUCCESS && status < 0 ? std::optional(status) : std::nullopt;
}

void OpenclLauncher::forget() {
  if (last_ != nullptr && last_ != first_) api_.clReleaseEvent(last_);
  if (first_ != nullptr) api_.clReleaseEvent(first_);
  first_ = last_ = nullptr;
}

}  // namespace intarsia
