#include "device/opencl/api.h"

#include <dlfcn.h>

#include "device/driver_functions.h"

namespace intarsia {
namespace {

constexpr const char* loader = "libOpenCL.so.1";

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif

/// Opens a driver with its own symbols first. PoCL has its own LLVM, and TensorFlow exports another one: if
/// TensorFlow was opened with global symbols, PoCL's constructors would call that one and crash. Sanitizers
/// end a process that requests this.
void prefer_its_own_symbols(const char* driver) {
  if (!is_sanitized) dlopen(driver, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
}

/// Finds the functions; returns the name of the first missing one, or empty.
std::string find_functions(void* library, OpenclApi& api) {
  DriverFunctions loading(library);
  loading.find(api.clGetPlatformIDs, "clGetPlatformIDs");
  loading.find(api.clGetPlatformInfo, "clGetPlatformInfo");
  loading.find(api.clGetDeviceIDs, "clGetDeviceIDs");
  loading.find(api.clGetDeviceInfo, "clGetDeviceInfo");
  loading.find(api.clCreateContext, "clCreateContext");
  loading.find(api.clCreateCommandQueue, "clCreateCommandQueue");
  loading.find(api.clReleaseCommandQueue, "clReleaseCommandQueue");
  loading.find(api.clFlush, "clFlush");
  loading.find(api.clFinish, "clFinish");
  loading.find(api.clCreateBuffer, "clCreateBuffer");
  loading.find(api.clReleaseMemObject, "clReleaseMemObject");
  loading.find(api.clEnqueueFillBuffer, "clEnqueueFillBuffer");
  loading.find(api.clEnqueueReadBuffer, "clEnqueueReadBuffer");
  loading.find(api.clEnqueueWriteBuffer, "clEnqueueWriteBuffer");
  loading.find(api.clEnqueueCopyBuffer, "clEnqueueCopyBuffer");
  loading.find(api.clEnqueueMapBuffer, "clEnqueueMapBuffer");
  loading.find(api.clEnqueueUnmapMemObject, "clEnqueueUnmapMemObject");
  loading.find(api.clCreateProgramWithSource, "clCreateProgramWithSource");
  loading.find(api.clCreateProgramWithBinary, "clCreateProgramWithBinary");
  loading.find(api.clBuildProgram, "clBuildProgram");
  loading.find(api.clGetProgramInfo, "clGetProgramInfo");
  loading.find(api.clGetProgramBuildInfo, "clGetProgramBuildInfo");
  loading.find(api.clReleaseProgram, "clReleaseProgram");
  loading.find(api.clCreateKernel, "clCreateKernel");
  loading.find(api.clSetKernelArg, "clSetKernelArg");
  loading.find(api.clReleaseKernel, "clReleaseKernel");
  loading.find(api.clEnqueueNDRangeKernel, "clEnqueueNDRangeKernel");
  loading.find(api.clWaitForEvents, "clWaitForEvents");
  loading.find(api.clReleaseEvent, "clReleaseEvent");
  loading.find(api.clGetEventInfo, "clGetEventInfo");
  loading.find(api.clGetEventProfilingInfo, "clGetEventProfilingInfo");
  return loading.missing();
}

Result<const OpenclApi*> open() {
  static OpenclApi api;
  prefer_its_own_symbols("libpocl.so.2");
  void* library = dlopen(loader, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(ErrorKind::not_found,
                "OpenCL cannot be opened: {}; install its loader (Debian: ocl-icd-libopencl1) and the driver "
                "of a device",
                dlerror());
  if (const std::string missing = find_functions(library, api); !missing.empty())
    return fail(ErrorKind::not_found, "{} has no {}; want a loader of OpenCL 1.2 or later", loader, missing);
  return &api;
}

const char* name_of(cl_int code) {
  switch (code) {
    case CL_DEVICE_NOT_FOUND:
      return "CL_DEVICE_NOT_FOUND";
    case CL_DEVICE_NOT_AVAILABLE:
      return "CL_DEVICE_NOT_AVAILABLE";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
      return "CL_MEM_OBJECT_ALLOCATION_FAILURE";
    case CL_OUT_OF_RESOURCES:
      return "CL_OUT_OF_RESOURCES";
    case CL_OUT_OF_HOST_MEMORY:
      return "CL_OUT_OF_HOST_MEMORY";
    case CL_BUILD_PROGRAM_FAILURE:
      return "CL_BUILD_PROGRAM_FAILURE";
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
      return "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";
    case CL_INVALID_VALUE:
      return "CL_INVALID_VALUE";
    case CL_INVALID_MEM_OBJECT:
      return "CL_INVALID_MEM_OBJECT";
    case CL_INVALID_BINARY:
      return "CL_INVALID_BINARY";
    case CL_INVALID_KERNEL_NAME:
      return "CL_INVALID_KERNEL_NAME";
    case CL_INVALID_KERNEL_ARGS:
      return "CL_INVALID_KERNEL_ARGS";
    case CL_INVALID_ARG_SIZE:
      return "CL_INVALID_ARG_SIZE";
    case CL_INVALID_WORK_GROUP_SIZE:
      return "CL_INVALID_WORK_GROUP_SIZE";
    case CL_INVALID_BUFFER_SIZE:
      return "CL_INVALID_BUFFER_SIZE";
    default:
      return "error";
  }
}

ErrorKind kind_of(cl_int code) {
  switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_INVALID_BUFFER_SIZE:
      return ErrorKind::out_of_memory;
    case CL_DEVICE_NOT_AVAILABLE:
      return ErrorKind::device_lost;
    default:
      return ErrorKind::internal;
  }
}

}  // namespace

Result<const OpenclApi*> open_opencl() {
  static const Result<const OpenclApi*> api = open();
  return api;
}

std::string opencl_error_text(cl_int code) { return fmt::format("{} ({})", name_of(code), code); }

Status check_opencl(cl_int code, const char* function) {
  if (code == CL_SUCCESS) return {};
  return fail(kind_of(code), "{} failed: {}", function, opencl_error_text(code));
}

}  // namespace intarsia
