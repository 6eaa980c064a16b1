// Devices of plug-ins of a build without them: there are none.
#include "device/plugin/device.h"
#include "plugin/loaded_plugins.h"

namespace intarsia {
namespace {

Result<std::shared_ptr<Executor>> no_device() { return tl::unexpected(check_plugin_support().error()); }

}  // namespace

Result<std::shared_ptr<Executor>> make_plugin_executor(const DeviceName&, std::shared_ptr<const Plugin>) {
  return no_device();
}
Result<std::shared_ptr<Executor>> make_declared_executor(const std::string&, const Plugin&) {
  return no_device();
}
std::vector<DeviceInfo> list_plugin_devices() { return {}; }

}  // namespace intarsia
