// The OpenCL devices of this machine, found once in a process.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/opencl_api.h"

namespace intarsia {

/// A device with all that is asked of it again and again. Lives as long as the process, as does its context.
struct OpenclDevice {
  const OpenclApi* api = nullptr;
  cl_device_id id = nullptr;
  cl_context context = nullptr;    // one for all devices of a platform, which can so copy to each other
  std::string label;               // "opencl:0"
  std::string name, platform;      // as its driver says
  std::string version;             // of the device and its driver
  bool is_cpu = false;             // its memory is the host's, its work items are loops
  bool divides_correctly = false;  // f32, where it is asked to round correctly
  bool has_f64 = false;
  uint32_t compute_units = 0;
  int threads = 0;  // of PoCL's pool, which its devices share; 0: it has none, or they are not known
  uint64_t memory_bytes = 0;  // of all pieces of memory
  uint64_t max_bytes = 0;     // of one piece
  uint32_t forks = 0;         // fork_count() when its driver was opened

  Status check(cl_int code, const char* function) const;
  /// Before commands. Error: this process is a copy of the one that opened the driver, and lacks its threads,
  /// so that commands would never end.
  Status check_process() const;
};

/// In the order of the platforms. The first call opens the drivers; their threads may run where the process's
/// first thread may. Error (not_found): no loader, no platform, or no platform with a device, each with what
/// to do. Thread-safe.
Result<std::span<const OpenclDevice>> opencl_devices();
/// By its label, with settings after a question mark or without. Error (not_found): as above, or there are
/// fewer devices.
Result<const OpenclDevice*> find_opencl_device(const std::string& label);

}  // namespace intarsia
