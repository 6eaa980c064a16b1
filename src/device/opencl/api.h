// OpenCL functions, opened at run time: our code links no OpenCL library.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>

#include "base/result.h"

namespace intarsia {

/// OpenCL functions, named as in the specification of OpenCL 1.2.
struct OpenclApi {
  decltype(&::clGetPlatformIDs) clGetPlatformIDs = nullptr;
  decltype(&::clGetPlatformInfo) clGetPlatformInfo = nullptr;
  decltype(&::clGetDeviceIDs) clGetDeviceIDs = nullptr;
  decltype(&::clGetDeviceInfo) clGetDeviceInfo = nullptr;
  decltype(&::clCreateContext) clCreateContext = nullptr;
  decltype(&::clCreateCommandQueue) clCreateCommandQueue = nullptr;
  decltype(&::clReleaseCommandQueue) clReleaseCommandQueue = nullptr;
  decltype(&::clFlush) clFlush = nullptr;
  decltype(&::clFinish) clFinish = nullptr;
  decltype(&::clCreateBuffer) clCreateBuffer = nullptr;
  decltype(&::clReleaseMemObject) clReleaseMemObject = nullptr;
  decltype(&::clEnqueueFillBuffer) clEnqueueFillBuffer = nullptr;
  decltype(&::clEnqueueReadBuffer) clEnqueueReadBuffer = nullptr;
  decltype(&::clEnqueueWriteBuffer) clEnqueueWriteBuffer = nullptr;
  decltype(&::clEnqueueCopyBuffer) clEnqueueCopyBuffer = nullptr;
  decltype(&::clEnqueueMapBuffer) clEnqueueMapBuffer = nullptr;
  decltype(&::clEnqueueUnmapMemObject) clEnqueueUnmapMemObject = nullptr;
  decltype(&::clCreateProgramWithSource) clCreateProgramWithSource = nullptr;
  decltype(&::clCreateProgramWithBinary) clCreateProgramWithBinary = nullptr;
  decltype(&::clBuildProgram) clBuildProgram = nullptr;
  decltype(&::clGetProgramInfo) clGetProgramInfo = nullptr;
  decltype(&::clGetProgramBuildInfo) clGetProgramBuildInfo = nullptr;
  decltype(&::clReleaseProgram) clReleaseProgram = nullptr;
  decltype(&::clCreateKernel) clCreateKernel = nullptr;
  decltype(&::clSetKernelArg) clSetKernelArg = nullptr;
  decltype(&::clReleaseKernel) clReleaseKernel = nullptr;
  decltype(&::clEnqueueNDRangeKernel) clEnqueueNDRangeKernel = nullptr;
  decltype(&::clWaitForEvents) clWaitForEvents = nullptr;
  decltype(&::clReleaseEvent) clReleaseEvent = nullptr;
  decltype(&::clGetEventInfo) clGetEventInfo = nullptr;
  decltype(&::clGetEventProfilingInfo) clGetEventProfilingInfo = nullptr;
};

/// Opens the library on the first call; a platform's driver starts with the first function called. Errors
/// (not_found): there is no such library, or a function is missing.
Result<const OpenclApi*> open_opencl();

/// Returns the text of a code: "CL_OUT_OF_RESOURCES (-5)".
std::string opencl_error_text(cl_int code);

/// Converts a code to a status. The error names the failed function; its kind follows from the code.
Status check_opencl(cl_int code, const char* function);

}  // namespace intarsia
