// Faults of OpenCL devices, injected by a layer between the loader and the drivers (opencl_faults.cc).
#pragma once

#include <CL/cl.h>

/// What goes wrong from now on; zeros: nothing. What devices say of themselves is read once, so the
/// environment variable OPENCL_FAULTS sets that at the start: "lacks_f64=1,memory_bytes=1000000".
struct OpenclFaults {
  cl_int only_device;    // N: launches and queues of the N-th alone fail; 0: of all
  cl_int launch_code;    // of every launch after `good_launches` more
  cl_int good_launches;  // counts down
  cl_int queue_code;     // of the creation of command queues
  cl_int kernel_code;    // with which kernels end: their events' status
  cl_int lacks_f64;
  cl_long memory_bytes;  // that a device has
};
