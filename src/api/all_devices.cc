#include "api/all_devices.h"

#include "api/run_backends.h"

namespace intarsia::api {

const std::vector<DeviceInfo>& all_devices() {
  static const std::vector<DeviceInfo> all = [] {
    std::vector<DeviceInfo> devices = list_devices();
    for (const RunBackend& backend : run_backends()) {
      if (backend.devices == nullptr) continue;
      for (std::string& name : backend.devices())
        devices.push_back({std::move(name), "a device of " + backend.name + "'s", ""});
    }
    return devices;
  }();
  return all;
}

}  // namespace intarsia::api
