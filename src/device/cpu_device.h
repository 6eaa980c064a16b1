// The host's processor and memory.
#pragma once

#include "device/device.h"

namespace intarsia {

std::shared_ptr<Device> make_cpu_device(const std::string& name);

}  // namespace intarsia
