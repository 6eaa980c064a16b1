// CUDA driver functions, opened at run time: our code neither links a CUDA library nor needs its headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace intarsia {

// Types and numbers of the driver's binary interface (CUDA Driver API reference, version 12) that are used
// here.
using CudaDeviceNumber = int;
using CudaContext = struct CudaContextObject*;
using CudaStream = struct CudaStreamObject*;
using CudaEvent = struct CudaEventObject*;
using CudaModule = struct CudaModuleObject*;
using CudaFunction = struct CudaFunctionObject*;
using CudaPointer = uint64_t;  // address on the device

enum class CudaCode : int {
  success = 0,
  out_of_memory = 2,
  no_device = 100,
  device_unavailable = 46,
  invalid_image = 200,
  no_binary_for_device = 209,
  uncorrectable_memory = 214,
  invalid_ptx = 218,
  unsupported_ptx_version = 222,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  launch_failed = 719
};

/// Driver functions, named as in the reference; functions with a second version (_v2) are that version.
struct CudaApi {
  CudaCode (*cuInit)(unsigned flags) = nullptr;
  CudaCode (*cuDriverGetVersion)(int* version) = nullptr;
  CudaCode (*cuGetErrorName)(CudaCode code, const char** name) = nullptr;
  CudaCode (*cuGetErrorString)(CudaCode code, const char** text) = nullptr;
  CudaCode (*cuDeviceGetCount)(int* count) = nullptr;
  CudaCode (*cuDeviceGet)(CudaDeviceNumber* device, int ordinal) = nullptr;
  CudaCode (*cuDeviceGetName)(char* name, int bytes, CudaDeviceNumber device) = nullptr;
  CudaCode (*cuDeviceGetAttribute)(int* value, int attribute, CudaDeviceNumber device) = nullptr;
  CudaCode (*cuDevicePrimaryCtxRetain)(CudaContext* context, CudaDeviceNumber device) = nullptr;
  CudaCode (*cuCtxPushCurrent)(CudaContext context) = nullptr;
  CudaCode (*cuCtxPopCurrent)(CudaContext* context) = nullptr;
  CudaCode (*cuMemGetInfo)(size_t* free, size_t* total) = nullptr;
  CudaCode (*cuMemAlloc)(CudaPointer* memory, size_t bytes) = nullptr;
  CudaCode (*cuMemFree)(CudaPointer memory) = nullptr;
  CudaCode (*cuMemHostAlloc)(void** memory, size_t bytes, unsigned flags) = nullptr;
  CudaCode (*cuMemFreeHost)(void* memory) = nullptr;
  CudaCode (*cuMemsetD8Async)(CudaPointer memory, unsigned char value, size_t bytes,
                              CudaStream stream) = nullptr;
  CudaCode (*cuMemcpyHtoDAsync)(CudaPointer to, const void* from, size_t bytes, CudaStream stream) = nullptr;
  CudaCode (*cuMemcpyDtoHAsync)(void* to, CudaPointer from, size_t bytes, CudaStream stream) = nullptr;
  CudaCode (*cuMemcpyDtoDAsync)(CudaPointer to, CudaPointer from, size_t bytes, CudaStream stream) = nullptr;
  CudaCode (*cuMemcpyPeerAsync)(CudaPointer to, CudaContext of_to, CudaPointer from, CudaContext of_from,
                                size_t bytes, CudaStream stream) = nullptr;
  CudaCode (*cuStreamCreate)(CudaStream* stream, unsigned flags) = nullptr;
  CudaCode (*cuStreamDestroy)(CudaStream stream) = nullptr;
  CudaCode (*cuStreamSynchronize)(CudaStream stream) = nullptr;
  CudaCode (*cuEventCreate)(CudaEvent* event, unsigned flags) = nullptr;
  CudaCode (*cuEventDestroy)(CudaEvent event) = nullptr;
  CudaCode (*cuEventRecord)(CudaEvent event, CudaStream stream) = nullptr;
  CudaCode (*cuEventSynchronize)(CudaEvent event) = nullptr;
  CudaCode (*cuModuleLoadDataEx)(CudaModule* module, const void* image, unsigned options, int* names,
                                 void** values) = nullptr;
  CudaCode (*cuModuleUnload)(CudaModule module) = nullptr;
  CudaCode (*cuModuleGetFunction)(CudaFunction* function, CudaModule module, const char* name) = nullptr;
  CudaCode (*cuLaunchKernel)(CudaFunction function, unsigned groups_x, unsigned groups_y, unsigned groups_z,
                             unsigned items_x, unsigned items_y, unsigned items_z, unsigned shared_bytes,
                             CudaStream stream, void** arguments, void** extra) = nullptr;
};

/// Opens the driver's library on the first call. Errors (not_found): there is none, or a function is missing.
Result<const CudaApi*> open_cuda();

/// Converts a driver code to a status. The error names the failed function; its kind follows from the code.
Status check_cuda(const CudaApi& api, CudaCode code, const char* function);

}  // namespace intarsia
