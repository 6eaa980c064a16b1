// Cores that an OpenCL device computes on, if these are the processor's.
#pragma once

#include "base/threads/pool_cores.h"
#include "device/opencl/devices.h"

namespace intarsia {

/// Checks whether the platform is PoCL, whose threads can be pinned to cores.
bool is_pocl(const std::string& platform);

/// Pins the device to these cores from now on; null stands for none in particular. PoCL has one thread pool
/// for all devices of a process that have threads, so these share one core set. A device without threads
/// computes in its calling threads. Errors: (busy) the pool is pinned to other cores; (unsupported) the
/// device's threads are unknown.
Status pin_to_cores(const OpenclDevice& device, const CoreSet* cores);

/// Scope in which threads that a driver starts from the calling thread are marked as PoCL's.
class StartsPoclThreads {
 public:
  StartsPoclThreads();
  /// Returns the number of threads started.
  int count() const;

 private:
  NamesNewThreads naming_;
};

}  // namespace intarsia
