#include "device/opencl/devices.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "base/core_set.h"
#include "base/threads/fork_count.h"
#include "device/opencl/cores.h"

namespace intarsia {
namespace {

constexpr cl_int no_platform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR, from the loader

template <typename Id>
std::string read_text(cl_int (*ask)(Id, cl_uint, size_t, void*, size_t*), Id id, cl_uint what) {
  size_t bytes = 0;
  if (ask(id, what, 0, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (ask(id, what, bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

template <typename Number>
Number read_number(const OpenclApi& api, cl_device_id id, cl_uint what) {
  Number number{};
  api.clGetDeviceInfo(id, what, sizeof(number), &number, nullptr);
  return number;
}

OpenclDevice describe(const OpenclApi& api, cl_device_id id, cl_context context, std::string platform) {
  OpenclDevice device{.api = &api, .id = id, .context = context};
  device.forks = fork_count();
  device.name = read_text(api.clGetDeviceInfo, id, CL_DEVICE_NAME);
  device.version = read_text(api.clGetDeviceInfo, id, CL_DEVICE_VERSION) + ", driver " +
                   read_text(api.clGetDeviceInfo, id, CL_DRIVER_VERSION);
  device.platform = std::move(platform);
  device.is_cpu = read_number<cl_device_type>(api, id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
  device.divides_correctly = read_number<cl_device_fp_config>(api, id, CL_DEVICE_SINGLE_FP_CONFIG) &
                             CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  device.has_f64 = read_number<cl_device_fp_config>(api, id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  device.compute_units = read_number<cl_uint>(api, id, CL_DEVICE_MAX_COMPUTE_UNITS);
  device.memory_bytes = read_number<cl_ulong>(api, id, CL_DEVICE_GLOBAL_MEM_SIZE);
  device.max_bytes = read_number<cl_ulong>(api, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  return device;
}

/// Adds the devices of a platform. Error: there are none, and why.
Status add_platform(const OpenclApi& api, cl_platform_id platform, std::vector<OpenclDevice>& devices) {
  const std::string name = read_text(api.clGetPlatformInfo, platform, CL_PLATFORM_NAME);
  cl_uint count = 0;
  std::optional<StartsPoclThreads> starting;
  if (is_pocl(name)) starting.emplace();
  cl_int code = api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  const int threads = starting ? starting->count() : 0;
  starting.reset();
  if (code != CL_SUCCESS || count == 0)
    return fail(ErrorKind::not_found,
                "the OpenCL platform '{}' has no devices: {}; PoCL wants a POCL_CACHE_DIR (else ~/.cache) "
                "that it can write to, and knows the names in POCL_DEVICES",
                name, opencl_error_text(code));
  std::vector<cl_device_id> ids(count);
  TRY(check_opencl(api.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr),
                   "clGetDeviceIDs"));
  cl_context context = api.clCreateContext(nullptr, count, ids.data(), nullptr, nullptr, &code);
  TRY(with_context(check_opencl(code, "clCreateContext"), "the OpenCL platform '{}'", name));
  for (cl_device_id id : ids) {
    devices.push_back(describe(api, id, context, name));
    devices.back().threads = threads;
  }
  return {};
}

Result<std::vector<OpenclDevice>> find_devices() {
  const OpenclApi& api = *TRY(open_opencl());
  cl_uint count = 0;
  cl_int code = api.clGetPlatformIDs(0, nullptr, &count);
  if (code == no_platform || (code == CL_SUCCESS && count == 0))
    return fail(
        ErrorKind::not_found,
        "there is no OpenCL platform: the loader finds no driver in /etc/OpenCL/vendors; install that "
        "of a device (Debian: pocl-opencl-icd for processors)");
  TRY(check_opencl(code, "clGetPlatformIDs"));
  std::vector<cl_platform_id> platforms(count);
  TRY(check_opencl(api.clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs"));
  std::vector<OpenclDevice> devices;
  Status first_failure;
  for (cl_platform_id platform : platforms) {
    Status added = add_platform(api, platform, devices);
    if (!added && first_failure) first_failure = std::move(added);
  }
  if (devices.empty()) TRY(std::move(first_failure));
  for (size_t i = 0; i < devices.size(); ++i) devices[i].label = fmt::format("opencl:{}", i);
  return devices;
}

/// Finds the devices on a thread that may use all cores, as a driver's threads inherit the cores of its first
/// caller for the life of the process.
Result<std::vector<OpenclDevice>> find_on_all_cores() {
  Result<std::vector<OpenclDevice>> devices;
  std::thread([&] {
    const Status ignored = CoreSet::of_thread(getpid()).bind_this_thread();  // else the caller's cores serve
    static_cast<void>(ignored);
    devices = find_devices();
  }).join();
  return devices;
}

}  // namespace

Status OpenclDevice::check(cl_int code, const char* function) const {
  return with_context(check_opencl(code, function), "device '{}' ({})", label, name);
}

Status OpenclDevice::check_process() const {
  if (forks == fork_count()) return {};
  return fail(ErrorKind::unsupported,
              "device '{}': the process that uses it called fork(), and the threads of its driver are "
              "not in this copy; start processes anew (Python: multiprocessing with 'spawn')",
              label);
}

Result<std::span<const OpenclDevice>> opencl_devices() {
  // Never destroyed, as drivers have threads that may outlive statics.
  static const auto& devices = *new Result<std::vector<OpenclDevice>>(find_on_all_cores());
  if (!devices) return tl::unexpected(devices.error());
  return std::span(*devices);
}

Result<const OpenclDevice*> find_opencl_device(const DeviceName& name) {
  const std::span<const OpenclDevice> devices = TRY(opencl_devices());
  const auto found = std::ranges::find(devices, name.without_settings(), &OpenclDevice::label);
  if (found == devices.end())
    return fail(ErrorKind::not_found, "there are {} OpenCL devices: opencl:0 to opencl:{}", devices.size(),
                devices.size() - 1);
  return &*found;
}

}  // namespace intarsia
