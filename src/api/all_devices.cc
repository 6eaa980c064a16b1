#include "api/all_devices.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "api/run_backends.h"
#include "device/plugin/device.h"

namespace intarsia::api {
namespace {

std::deque<DeviceInfo> find_devices() {
  const std::vector<DeviceInfo> known = list_devices();
  std::deque<DeviceInfo> devices(known.begin(), known.end());
  for (const RunBackend& backend : run_backends()) {
    if (backend.devices == nullptr) continue;
    for (std::string& name : backend.devices())
      devices.push_back({std::move(name), "a device of " + backend.name + "'s", ""});
  }
  return devices;
}

}  // namespace

std::vector<const DeviceInfo*> all_devices() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  // Devices of plug-ins are added at the end, which leaves the others where they are.
  static std::deque<DeviceInfo>& devices = *new std::deque<DeviceInfo>(find_devices());
  for (DeviceInfo& device : list_plugin_devices()) {
    if (std::ranges::find(devices, device.name, &DeviceInfo::name) == devices.end())
      devices.push_back(std::move(device));
  }
  std::vector<const DeviceInfo*> all;
  for (const DeviceInfo& device : devices) all.push_back(&device);
  return all;
}

}  // namespace intarsia::api
