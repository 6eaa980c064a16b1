#include "device/cuda/api.h"

#include <dlfcn.h>

#include "device/driver_functions.h"

namespace intarsia {
namespace {

constexpr const char* driver = "libcuda.so.1";

/// Finds the functions; returns the name of the first missing one, or empty.
std::string find_cuda_functions(void* library, CudaApi& api) {
  DriverFunctions in(library);
  in.find(api.cuInit, "cuInit");
  in.find(api.cuDriverGetVersion, "cuDriverGetVersion");
  in.find(api.cuGetErrorName, "cuGetErrorName");
  in.find(api.cuGetErrorString, "cuGetErrorString");
  in.find(api.cuDeviceGetCount, "cuDeviceGetCount");
  in.find(api.cuDeviceGet, "cuDeviceGet");
  in.find(api.cuDeviceGetName, "cuDeviceGetName");
  in.find(api.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  in.find(api.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  in.find(api.cuCtxPushCurrent, "cuCtxPushCurrent_v2");
  in.find(api.cuCtxPopCurrent, "cuCtxPopCurrent_v2");
  in.find(api.cuMemGetInfo, "cuMemGetInfo_v2");
  in.find(api.cuMemAlloc, "cuMemAlloc_v2");
  in.find(api.cuMemFree, "cuMemFree_v2");
  in.find(api.cuMemHostAlloc, "cuMemHostAlloc");
  in.find(api.cuMemFreeHost, "cuMemFreeHost");
  in.find(api.cuMemsetD8Async, "cuMemsetD8Async");
  in.find(api.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  in.find(api.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  in.find(api.cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  in.find(api.cuMemcpyPeerAsync, "cuMemcpyPeerAsync");
  in.find(api.cuStreamCreate, "cuStreamCreate");
  in.find(api.cuStreamDestroy, "cuStreamDestroy_v2");
  in.find(api.cuStreamSynchronize, "cuStreamSynchronize");
  in.find(api.cuEventCreate, "cuEventCreate");
  in.find(api.cuEventDestroy, "cuEventDestroy_v2");
  in.find(api.cuEventRecord, "cuEventRecord");
  in.find(api.cuEventSynchronize, "cuEventSynchronize");
  in.find(api.cuModuleLoadDataEx, "cuModuleLoadDataEx");
  in.find(api.cuModuleUnload, "cuModuleUnload");
  in.find(api.cuModuleGetFunction, "cuModuleGetFunction");
  in.find(api.cuLaunchKernel, "cuLaunchKernel");
  return in.missing();
}

Result<const CudaApi*> open_driver() {
  static CudaApi api;
  void* library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(ErrorKind::not_found, "CUDA cannot be opened: {}; install the driver of an NVIDIA GPU",
                dlerror());
  if (const std::string missing = find_cuda_functions(library, api); !missing.empty())
    return fail(ErrorKind::not_found, "{} has no {}; want a driver of CUDA 11 or later", driver, missing);
  return &api;
}

/// Returns the kind of an error. After most kernel errors the context is unusable in the whole process.
ErrorKind kind_of(CudaCode code) {
  switch (code) {
    case CudaCode::out_of_memory:
    case CudaCode::launch_out_of_resources:
      return ErrorKind::out_of_memory;
    case CudaCode::device_unavailable:
    case CudaCode::uncorrectable_memory:
    case CudaCode::illegal_address:
    case CudaCode::launch_timeout:
    case CudaCode::launch_failed:
      return ErrorKind::device_lost;
    case CudaCode::invalid_image:
    case CudaCode::no_binary_for_device:
    case CudaCode::invalid_ptx:
    case CudaCode::unsupported_ptx_version:
      return ErrorKind::unsupported;
    default:
      return ErrorKind::internal;
  }
}

}  // namespace

Result<const CudaApi*> open_cuda() {
  static const Result<const CudaApi*> api = open_driver();
  return api;
}

Status check_cuda(const CudaApi& api, CudaCode code, const char* function) {
  if (code == CudaCode::success) return {};
  const char *name = nullptr, *text = nullptr;
  api.cuGetErrorName(code, &name);
  api.cuGetErrorString(code, &text);
  return fail(kind_of(code), "{} failed: {} ({}): {}", function, name == nullptr ? "error" : name,
              static_cast<int>(code), text == nullptr ? "not known to the driver" : text);
}

}  // namespace intarsia
