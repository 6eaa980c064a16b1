// Devices of this machine, with those that only a backend or a plug-in knows.
#pragma once

#include <vector>

#include "device/by_name/devices.h"

namespace intarsia::api {

/// Returns the devices, which are found once, and those of the plug-ins that are loaded. May open drivers,
/// and the libraries of backends. Each device lives until the process ends. Thread-safe.
std::vector<const DeviceInfo*> all_devices();

}  // namespace intarsia::api
