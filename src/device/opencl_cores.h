// Which cores an OpenCL device computes on, where these are the processor's.
#pragma once

#include "base/pool_cores.h"
#include "device/opencl_devices.h"

namespace intarsia {

/// True: the platform is PoCL, whose threads can be held to cores.
bool is_pocl(const std::string& platform);

/// Held to these cores from now on; null: to none in particular. PoCL has one pool of threads for all devices
/// of a process that have any, so there is one core set for these, too. A device without threads computes in
/// those that call it. Errors: (busy) the pool is held to others; (unsupported) its threads are not known.
Status hold_to_cores(const OpenclDevice& device, const CoreSet* cores);

/// While this lives, threads that a driver starts from the calling one are known as PoCL's.
class StartsPoclThreads {
 public:
  StartsPoclThreads();
  /// How many were started.
  int count() const;

 private:
  NamesNewThreads naming_;
};

}  // namespace intarsia
