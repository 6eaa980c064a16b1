// Times copies between the memories of two devices.
#pragma once

#include <string>

#include "base/result.h"
#include "target/cost_table.h"

namespace intarsia {

/// Copies few and many bytes a few times and draws a line through the least times: a + b x bytes. Devices are
/// given by name (device/by_name/devices.h). Errors: one of them is missing, or has no room for 4 MiB.
Result<LinkCost> time_link(const std::string& from_device, const std::string& to_device);

}  // namespace intarsia
