// A device of a plug-in: open, its memory, and what runs on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/devices.h"
#include "device/executor.h"
#include "plugin/plugin_call.h"
#include "plugin/plugin_library.h"

namespace intarsia {

/// Closed when the last that uses it is gone: executables, memory, executors.
class PluginDevice {
 public:
  static Result<std::shared_ptr<const PluginDevice>> open(const std::string& name,
                                                          std::shared_ptr<const Plugin> plugin,
                                                          size_t number);
  ~PluginDevice();
  PluginDevice(const PluginDevice&) = delete;
  PluginDevice& operator=(const PluginDevice&) = delete;

  const std::string& name() const { return name_; }  // "toy_npu:0"
  const Plugin& plugin() const { return *plugin_; }
  const intarsia_plugin_runtime& runtime() const { return plugin_->runtime(); }
  intarsia_plugin_device handle() const { return handle_; }

  /// `call(message)`, a function of the runtime, whose name is `what`.
  template <typename Call>
  Status call(const char* what, Call&& call) const {
    TRY(check_process());
    PluginMessage message;
    return check(what, call(message.get()), message);
  }

  /// `call(event, message)`, waited for.
  template <typename Call>
  Status call_and_wait(const char* what, Call&& call) const {
    TRY(check_process());
    PluginMessage message;
    intarsia_plugin_event event = nullptr;
    const Status begun = check(what, call(&event, message.get()), message);
    return event == nullptr ? begun : finish(what, begun, event);
  }

  /// `free()`, a call that cannot fail. A copy of the process by fork() frees nothing: the plug-in's threads
  /// are in the other.
  template <typename Free>
  void release(Free&& free) const {
    if (is_in_its_process()) free();
  }

  /// Its answer has something that cannot be.
  tl::unexpected<Error> wrong_answer(const char* what, const std::string& why) const;

 private:
  PluginDevice(std::string name, std::shared_ptr<const Plugin> plugin, intarsia_plugin_device handle);
  Status check(const char* what, int32_t status, PluginMessage& message) const;
  bool is_in_its_process() const;
  Status check_process() const;
  Status finish(const char* what, Status begun, intarsia_plugin_event event) const;

  std::string name_;
  std::shared_ptr<const Plugin> plugin_;
  intarsia_plugin_device handle_;
  uint32_t forks_;
};

/// An executor whose space is the device's memory.
class PluginExecutor : public Executor {
 public:
  explicit PluginExecutor(std::shared_ptr<const PluginDevice> device);
  const std::shared_ptr<const PluginDevice>& device() const { return device_; }

 private:
  std::shared_ptr<const PluginDevice> device_;
};

/// `name`: "toy_npu:0". Error: the plug-in has no such device, or cannot open it.
Result<std::shared_ptr<Executor>> make_plugin_executor(const std::string& name,
                                                       std::shared_ptr<const Plugin> plugin, size_t number);

/// In place of a device that this machine lacks, to time plans: it copies at the speed that the plug-in
/// declares, and its regions take as long as declared and compute nothing. Named "toy_npu:0?declared".
inline constexpr std::string_view declared_setting = "?declared";
/// The device of this name; where it cannot be opened and its plug-in declares costs, what stands in for it.
std::string timed_device(const std::string& name);
/// `name`: with the setting. Error: the plug-in declares no costs.
Result<std::shared_ptr<Executor>> make_declared_executor(const std::string& name, const Plugin& plugin);

/// Those of all plug-ins that are loaded.
std::vector<DeviceInfo> list_plugin_devices();

}  // namespace intarsia
