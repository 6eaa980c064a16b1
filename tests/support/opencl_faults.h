// Faults of OpenCL devices, injected by a layer between the loader and the drivers (opencl_faults.cc).
#pragma once

#include <CL/cl.h>

/// What goes wrong from now on; zeros: nothing. The environment variable OPENCL_FAULTS sets it at the start:
/// "launch_code=-5,good_launches=3".
struct OpenclFaults {
  cl_int only_device;    // N: launches and queues of the N-th alone fail; 0: of all
  cl_int launch_code;    // of every launch after `good_launches` more
  cl_int good_launches;  // counts down
  cl_int queue_code;     // of the creation of command queues
  cl_int kernel_code;    // with which kernels end: their events' status
  cl_int lacks_f64;
  cl_long memory_bytes;  // that a device has
};
