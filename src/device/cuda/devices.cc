#include "device/cuda/devices.h"

#include <array>

#include "base/threads/fork_count.h"

namespace intarsia {
namespace {

// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
constexpr int attribute_major = 75, attribute_minor = 76;

Result<CudaDevice> describe_cuda(const CudaApi& api, int ordinal) {
  CudaDeviceNumber number = 0;
  TRY(check_cuda(api, api.cuDeviceGet(&number, ordinal), "cuDeviceGet"));
  std::array<char, 256> name{};
  TRY(check_cuda(api, api.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, number),
                 "cuDeviceGetName"));
  CudaDevice device{.api = &api, .number = ordinal, .name = name.data()};
  TRY(check_cuda(api, api.cuDeviceGetAttribute(&device.capability_major, attribute_major, number),
                 "cuDeviceGetAttribute"));
  TRY(check_cuda(api, api.cuDeviceGetAttribute(&device.capability_minor, attribute_minor, number),
                 "cuDeviceGetAttribute"));
  int driver = 0;
  TRY(check_cuda(api, api.cuDriverGetVersion(&driver), "cuDriverGetVersion"));
  device.version = fmt::format("compute capability {}.{}, driver for CUDA {}.{}", device.capability_major,
                               device.capability_minor, driver / 1000, driver % 1000 / 10);
  TRY(check_cuda(api, api.cuDevicePrimaryCtxRetain(&device.context, number), "cuDevicePrimaryCtxRetain"));
  device.forks = fork_count();
  return device;
}

Result<std::vector<CudaDevice>> find_cuda_devices() {
  const CudaApi& api = *TRY(open_cuda());
  const CudaCode started = api.cuInit(0);
  int count = 0;
  if (started == CudaCode::success) TRY(check_cuda(api, api.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  if (started == CudaCode::no_device || (started == CudaCode::success && count == 0))
    return fail(
        ErrorKind::not_found,
        "the CUDA driver finds no device; a container needs to be given one, and CUDA_VISIBLE_DEVICES "
        "hides what it does not list");
  TRY(check_cuda(api, started, "cuInit"));
  std::vector<CudaDevice> devices;
  for (int i = 0; i < count; ++i) devices.push_back(TRY(describe_cuda(api, i)));
  return devices;
}

}  // namespace

Status CudaDevice::check(CudaCode code, const char* function) const {
  return with_context(check_cuda(*api, code, function), "cuda:{} ({})", number, name);
}

Status CudaDevice::check_process() const {
  if (forks == fork_count()) return {};
  return fail(ErrorKind::unsupported,
              "cuda:{}: the process that uses it called fork(), and the driver does not work in this "
              "copy; start processes anew (Python: multiprocessing with 'spawn')",
              number);
}

Result<CudaScope> CudaScope::enter(const CudaDevice& device) {
  TRY(device.check_process());
  TRY(device.check(device.api->cuCtxPushCurrent(device.context), "cuCtxPushCurrent"));
  return CudaScope(device.api);
}

Result<std::span<const CudaDevice>> cuda_devices() {
  static const auto& devices = *new Result<std::vector<CudaDevice>>(find_cuda_devices());
  if (!devices) return tl::unexpected(devices.error());
  return std::span(*devices);
}

}  // namespace intarsia
