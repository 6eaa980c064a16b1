// The devices of this machine, with those that only a backend knows.
#pragma once

#include <vector>

#include "device/devices.h"

namespace intarsia::api {

/// Found once. May open drivers, and the libraries of backends.
const std::vector<DeviceInfo>& all_devices();

}  // namespace intarsia::api
