// Faults of OpenCL devices, injected by a layer between the loader and the drivers (opencl_faults.cc).
#pragma once

#include <CL/cl.h>

/// Faults that occur from the moment they are set; zeros mean none. Properties of devices are read once, so
/// the environment variable OPENCL_FAULTS sets these at the start: "lacks_f64=1,memory_bytes=1000000".
struct OpenclFaults {
  cl_int only_device;    // number of the only device whose launches and queues fail, from 1; 0: all
  cl_int launch_code;    // code of every launch after `good_launches` more
  cl_int good_launches;  // launches that still work; counts down
  cl_int queue_code;     // code of the creation of command queues
  cl_int kernel_code;    // code with which kernels end: their events' status
  cl_int lacks_f64;
  cl_long memory_bytes;  // memory of a device
};
