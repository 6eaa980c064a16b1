// Layer in the sense of <CL/cl_layer.h>: OPENCL_LAYERS=libopencl_faults.so makes the loader call it instead
// of the drivers. It forwards everything except what opencl_faults makes fail.
#include "tests/support/opencl_faults.h"

#include <CL/cl_layer.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

const cl_icd_dispatch* driver = nullptr;
cl_icd_dispatch layer;

}  // namespace

extern "C" {
OpenclFaults opencl_faults;
}

namespace {

std::array<cl_device_id, 8> devices{};

cl_int CL_API_CALL list_devices(cl_platform_id platform, cl_device_type type, cl_uint count,
                                cl_device_id* ids, cl_uint* found) {
  const cl_int code = driver->clGetDeviceIDs(platform, type, count, ids, found);
  if (ids != nullptr) std::copy_n(ids, std::min<size_t>(count, devices.size()), devices.begin());
  return code;
}

bool fails(cl_device_id device) {
  const cl_int number = opencl_faults.only_device;
  return number == 0 || devices.at(static_cast<size_t>(number - 1)) == device;
}

cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint axes, const size_t* offset,
                          const size_t* items, const size_t* group, cl_uint waits, const cl_event* wait,
                          cl_event* done) {
  cl_device_id device = nullptr;
  driver->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, nullptr);
  if (opencl_faults.launch_code != 0 && fails(device) && opencl_faults.good_launches-- <= 0)
    return opencl_faults.launch_code;
  return driver->clEnqueueNDRangeKernel(queue, kernel, axes, offset, items, group, waits, wait, done);
}

cl_command_queue CL_API_CALL make_queue(cl_context context, cl_device_id device,
                                        cl_command_queue_properties properties, cl_int* code) {
  if (opencl_faults.queue_code == 0 || !fails(device))
    return driver->clCreateCommandQueue(context, device, properties, code);
  *code = opencl_faults.queue_code;
  return nullptr;
}

cl_int CL_API_CALL wait_for(cl_uint count, const cl_event* events) {
  const cl_int code = driver->clWaitForEvents(count, events);
  return opencl_faults.kernel_code == 0 ? code : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

cl_int CL_API_CALL event_info(cl_event event, cl_event_info what, size_t bytes, void* value, size_t* needed) {
  const cl_int code = driver->clGetEventInfo(event, what, bytes, value, needed);
  if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && opencl_faults.kernel_code != 0)
    std::memcpy(value, &opencl_faults.kernel_code, sizeof(cl_int));
  return code;
}

cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t bytes, void* value,
                               size_t* needed) {
  const cl_int code = driver->clGetDeviceInfo(device, what, bytes, value, needed);
  if (what == CL_DEVICE_GLOBAL_MEM_SIZE && opencl_faults.memory_bytes != 0 && value != nullptr)
    std::memcpy(value, &opencl_faults.memory_bytes, sizeof(cl_ulong));
  if (what == CL_DEVICE_DOUBLE_FP_CONFIG && opencl_faults.lacks_f64 != 0 && value != nullptr)
    std::memset(value, 0, bytes);
  return code;
}

template <typename Number>
void read(std::string_view text, std::string_view name, Number& number) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return;
  const char* begin = text.data() + at + name.size();
  std::from_chars(begin, text.data() + text.size(), number);
}

void read_environment() {
  const char* text = std::getenv("OPENCL_FAULTS");
  if (text == nullptr) return;
  read(text, "lacks_f64=", opencl_faults.lacks_f64);
  read(text, "memory_bytes=", opencl_faults.memory_bytes);
}

}  // namespace

extern "C" {

cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t bytes, void* value, size_t* needed) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (what != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  if (value != nullptr && bytes < sizeof(version)) return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, &version, sizeof(version));
  if (needed != nullptr) *needed = sizeof(version);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch* target, cl_uint* made,
                               const cl_icd_dispatch** to) {
  driver = target;
  const size_t bytes = std::min(sizeof(layer), count * sizeof(void*));
  std::memcpy(&layer, target, bytes);
  layer.clEnqueueNDRangeKernel = launch;
  layer.clCreateCommandQueue = make_queue;
  layer.clWaitForEvents = wait_for;
  layer.clGetEventInfo = event_info;
  layer.clGetDeviceInfo = device_info;
  layer.clGetDeviceIDs = list_devices;
  read_environment();
  *made = static_cast<cl_uint>(sizeof(layer) / sizeof(void*));
  *to = &layer;
  return CL_SUCCESS;
}
}
