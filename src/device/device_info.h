// Description of a device in a list.
#pragma once

#include <string>

namespace intarsia {

struct DeviceInfo {
  std::string name;
  std::string description;
  std::string why_not_automatic;  // reason that automatic device selection skips it; empty if it does not
};

}  // namespace intarsia
