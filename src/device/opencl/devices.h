// OpenCL devices of this machine, found once per process.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/device_name.h"
#include "device/opencl/api.h"

namespace intarsia {

/// OpenCL device with its often used properties. It and its context live as long as the process.
struct OpenclDevice {
  const OpenclApi* api = nullptr;
  cl_device_id id = nullptr;
  cl_context context = nullptr;    // shared by all devices of a platform, so that they can copy to each other
  std::string label;               // "opencl:0"
  std::string name, platform;      // names reported by its driver
  std::string version;             // versions of the device and its driver
  bool is_cpu = false;             // uses host memory, and runs work items as loops
  bool divides_correctly = false;  // rounds f32 division correctly on request
  bool has_f64 = false;
  uint32_t compute_units = 0;
  int threads = 0;  // size of the pool shared by PoCL's devices; 0 if there is none or it is unknown
  uint64_t memory_bytes = 0;  // total memory
  uint64_t max_bytes = 0;     // limit of one allocation
  uint32_t forks = 0;         // fork_count() when its driver was opened

  Status check(cl_int code, const char* function) const;
  /// Checks the process; call before commands. Error: this is a forked copy of the process that opened the
  /// driver, which lacks its threads, so commands would never end.
  Status check_process() const;
};

/// Returns the devices in the order of the platforms. The first call opens the drivers; their threads may run
/// where the process's first thread may. Thread-safe. Errors (not_found): no loader, no platform, or no
/// platform with a device, each with a remedy.
Result<std::span<const OpenclDevice>> opencl_devices();
/// Errors (not_found): those of opencl_devices(), or there are fewer devices.
Result<const OpenclDevice*> find_opencl_device(const DeviceName& name);

}  // namespace intarsia
