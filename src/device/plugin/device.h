// Device of a plug-in: opening it, its memory, and its executor.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "device/device_info.h"
#include "device/executor.h"
#include "plugin/plugin_call.h"
#include "plugin/plugin_library.h"
#include "plugin/plugin_options.h"

namespace intarsia {

/// Open device, closed with its last user: executables, memory, executors.
class PluginDevice {
 public:
  static Result<std::shared_ptr<const PluginDevice>> open(const DeviceName& name,
                                                          std::shared_ptr<const Plugin> plugin);
  ~PluginDevice();
  PluginDevice(const PluginDevice&) = delete;
  PluginDevice& operator=(const PluginDevice&) = delete;

  const std::string& name() const { return name_; }  // "toy_npu:0"
  const Plugin& plugin() const { return *plugin_; }
  const intarsia_plugin_runtime& runtime() const { return plugin_->runtime(); }
  intarsia_plugin_device handle() const { return handle_; }
  /// Whether a call reported the device as lost.
  bool is_lost() const { return is_lost_; }

  /// Calls `call(message)`, a function of the runtime named `what`.
  template <typename Call>
  Status call(const char* what, Call&& call) const {
    TRY(check_process());
    PluginMessage message;
    return check(what, call(message.get()), message);
  }

  /// Calls `call(event, message)` and waits for the event.
  template <typename Call>
  Status call_and_wait(const char* what, Call&& call) const {
    TRY(check_process());
    PluginMessage message;
    intarsia_plugin_event event = nullptr;
    const Status begun = check(what, call(&event, message.get()), message);
    return event == nullptr ? begun : finish(what, begun, event);
  }

  /// Calls `free()`, which cannot fail. A forked copy of the process frees nothing, as it lacks the plug-in's
  /// threads.
  template <typename Free>
  void release(Free&& free) const {
    if (is_in_its_process()) free();
  }

  /// Makes the error for an impossible answer of the plug-in.
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
  mutable std::atomic<bool> is_lost_{false};
};

/// Executor whose space is the device's memory, which may be the host's.
class PluginExecutor : public Executor {
 public:
  explicit PluginExecutor(std::shared_ptr<const PluginDevice> device);
  const std::shared_ptr<const PluginDevice>& device() const { return device_; }
  bool is_lost() const override { return device_->is_lost(); }
  uint32_t queues() const override { return device_->runtime().compute_queues; }

 private:
  std::shared_ptr<const PluginDevice> device_;
};

/// Makes the executor "toy_npu:0?power=low". Errors: the plug-in has no such device, or cannot open it.
Result<std::shared_ptr<Executor>> make_plugin_executor(const DeviceName& name,
                                                       std::shared_ptr<const Plugin> plugin);

/// Suffix of the stand-in ("toy_npu:0?declared") for a device that this machine lacks, to time plans: it
/// copies at the speed that the plug-in declares, and its regions take as long as declared and compute
/// nothing.
inline constexpr std::string_view declared_setting = "?declared";
/// Makes a stand-in; `name` includes the suffix. Error: the plug-in declares no costs.
Result<std::shared_ptr<Executor>> make_declared_executor(const std::string& name, const Plugin& plugin);

/// Lists the devices of all loaded plug-ins.
std::vector<DeviceInfo> list_plugin_devices();

}  // namespace intarsia
