#include "device/plugin/device.h"

#include <algorithm>

#include "base/threads/fork_count.h"
#include "device/plugin/space.h"
#include "device/sim/executor.h"
#include "plugin/loaded_plugins.h"
#include "plugin/one_line.h"

namespace intarsia {
namespace {

constexpr size_t most_listed = 1000;  // devices per plug-in

int32_t call_open(const intarsia_plugin_runtime& runtime, size_t number,
                  const std::vector<DeviceSetting>& settings, intarsia_plugin_device* device,
                  const intarsia_plugin_message* message) {
  if (settings.empty()) return runtime.open_device(number, device, message);
  std::vector<intarsia_plugin_setting> given;
  for (const DeviceSetting& setting : settings)
    given.push_back({sizeof(intarsia_plugin_setting), setting.name.c_str(), setting.value.c_str()});
  std::vector<const intarsia_plugin_setting*> pointers;
  for (const intarsia_plugin_setting& setting : given) pointers.push_back(&setting);
  return runtime.open_device_with(number, pointers.data(), pointers.size(), device, message);
}

std::shared_ptr<MemorySpace> make_space(const std::shared_ptr<const PluginDevice>& device) {
  if (device->runtime().unified_memory != 0) return host_memory_space();
  return std::make_shared<PluginSpace>(device);
}

}  // namespace

PluginDevice::PluginDevice(std::string name, std::shared_ptr<const Plugin> plugin,
                           intarsia_plugin_device handle)
    : name_(std::move(name)), plugin_(std::move(plugin)), handle_(handle), forks_(fork_count()) {}

PluginDevice::~PluginDevice() {
  release([this] { runtime().close_device(handle_); });
}

bool PluginDevice::is_in_its_process() const { return forks_ == fork_count(); }

Result<std::shared_ptr<const PluginDevice>> PluginDevice::open(const DeviceName& name,
                                                               std::shared_ptr<const Plugin> plugin) {
  const size_t number = TRY(name.index());
  const size_t count = plugin->runtime().device_count();
  if (number >= count)
    return fail(ErrorKind::not_found, "{} has {} device{} here, numbered from 0", plugin->who(), count,
                count == 1 ? "" : "s");
  PluginMessage message;
  intarsia_plugin_device handle = nullptr;
  const int32_t status = call_open(plugin->runtime(), number, name.settings, &handle, message.get());
  TRY(check_plugin_status(plugin->who(), "open_device", status, message));
  if (handle == nullptr)
    return fail(ErrorKind::device_lost, "{}: open_device: it gave no device", plugin->who());
  return std::shared_ptr<const PluginDevice>(new PluginDevice(name.text, std::move(plugin), handle));
}

Status PluginDevice::check_process() const {
  if (is_in_its_process()) return {};
  return fail(
      ErrorKind::unsupported,
      "device '{}': the process that uses it called fork(), and the threads of its plug-in are not in "
      "this copy; start processes anew (Python: multiprocessing with 'spawn')",
      name_);
}

Status PluginDevice::check(const char* what, int32_t status, PluginMessage& message) const {
  if (status == INTARSIA_PLUGIN_OK) return {};
  if (status == INTARSIA_PLUGIN_DEVICE_LOST) is_lost_ = true;
  return check_plugin_status(plugin_->who(), fmt::format("{} on {}", what, name_), status, message);
}

Status PluginDevice::finish(const char* what, Status begun, intarsia_plugin_event event) const {
  if (begun) {
    PluginMessage message;
    begun = check(what, runtime().wait(handle_, event, message.get()), message);
  }
  runtime().release_event(handle_, event);
  return begun;
}

tl::unexpected<Error> PluginDevice::wrong_answer(const char* what, const std::string& why) const {
  return fail(ErrorKind::io, "{}: {} on {}: {}", plugin_->who(), what, name_, why);
}

PluginExecutor::PluginExecutor(std::shared_ptr<const PluginDevice> device)
    : Executor(device->name(), device->plugin().name(), make_space(device)), device_(std::move(device)) {}

Result<std::shared_ptr<Executor>> make_plugin_executor(const DeviceName& name,
                                                       std::shared_ptr<const Plugin> plugin) {
  return std::make_shared<PluginExecutor>(TRY(PluginDevice::open(name, std::move(plugin))));
}

Result<std::shared_ptr<Executor>> make_declared_executor(const std::string& name, const Plugin& plugin) {
  constexpr double unlimited_gbps = 1e6;
  const intarsia_plugin_compiler* compiler = plugin.compiler();
  if (compiler == nullptr || compiler->cost == nullptr) return fail("{} declares no costs", plugin.who());
  if (plugin.runtime().unified_memory != 0)
    return std::make_shared<Executor>(name, plugin.name(), host_memory_space());
  SimSettings settings;
  settings.latency_us = compiler->copy_latency_ns / 1e3;
  settings.gbps = compiler->copy_ns_per_byte > 0 ? 1 / compiler->copy_ns_per_byte : unlimited_gbps;
  return make_stand_in(name, plugin.name(), settings);
}

std::vector<DeviceInfo> list_plugin_devices() {
  std::vector<DeviceInfo> list;
  for (const auto& plugin : loaded_plugins()) {
    const intarsia_plugin_runtime& runtime = plugin->runtime();
    const size_t count = std::min(runtime.device_count(), most_listed);
    for (size_t number = 0; number < count; ++number) {
      const char* text = runtime.describe_device == nullptr ? nullptr : runtime.describe_device(number);
      std::string about = text == nullptr ? "a device" : one_line(text);
      if (const std::string options = list_plugin_options(*plugin); !options.empty())
        about += "; options: " + options;
      list.push_back(
          {fmt::format("{}:{}", plugin->name(), number), fmt::format("{} ({})", about, plugin->who()), ""});
    }
  }
  return list;
}

}  // namespace intarsia
