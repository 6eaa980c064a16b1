// The devices of this machine, with those that only a backend knows, or a plug-in.
#pragma once

#include <vector>

#include "device/devices.h"

namespace intarsia::api {

/// What is found once, and the devices of the plug-ins that are loaded by now. May open drivers, and the
/// libraries of backends. Each lives as long as the process. Thread-safe.
std::vector<const DeviceInfo*> all_devices();

}  // namespace intarsia::api
