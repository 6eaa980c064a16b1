#include "device/by_name/devices.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "device/cuda/devices.h"
#include "device/cuda/executor.h"
#include "device/opencl/devices.h"
#include "device/opencl/executor.h"
#include "device/plugin/device.h"
#include "device/sim/declared_times.h"
#include "device/sim/executor.h"
#include "plugin/loaded_plugins.h"

namespace intarsia {
namespace {

/// Makes an executor on all host cores, or on those of the name.
Result<std::shared_ptr<Executor>> make_cpu_executor(const DeviceName& name) {
  if (!name.cores) return std::make_shared<Executor>(name.text, "cpu", host_memory_space());
  TRY(check_usable(*name.cores));
  return std::make_shared<Executor>(name.text, "cpu", host_memory_space(), *name.cores);
}

/// Makes the device "opencl:N" or, pinned to cores, "opencl:N?cores=0-1".
Result<std::shared_ptr<Executor>> make_opencl_device(const DeviceName& name) {
  TRY(name.index());
  if (name.settings.size() > (name.cores ? 1 : 0))
    return fail("an OpenCL device has one setting, as in {}?cores=0-1", name.without_settings());
  if (name.cores) TRY(check_usable(*name.cores));
  return make_opencl_executor(name);
}

/// Makes an OpenVINO device, which copies from and to host memory itself.
Result<std::shared_ptr<Executor>> make_openvino_executor(const DeviceName& name) {
  const bool is_name = !name.unit.empty() && std::ranges::all_of(name.unit, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_';
  });
  if (!is_name || !name.settings.empty())
    return fail("want a device of OpenVINO's, as in openvino:GPU or openvino:GPU.1");
  return std::make_shared<Executor>(name.text, "openvino", host_memory_space());
}

Result<std::shared_ptr<Executor>> make_sim_device(const DeviceName& name) {
  TRY(name.index());
  return make_sim_executor(name.text, TRY(read_sim_settings(name.settings)));
}

Result<std::shared_ptr<Executor>> make_plugin_device(const DeviceName& name,
                                                     std::shared_ptr<const Plugin> plugin) {
  if (name.text.ends_with(declared_setting)) return make_declared_executor(name.text, *plugin);
  TRY(check_plugin_settings(*plugin, name.settings));
  TRY(name.index());
  return make_plugin_executor(name, std::move(plugin));
}

Result<std::shared_ptr<Executor>> make_of_kind(const DeviceName& name) {
  if (name.kind == "cpu") return make_cpu_executor(name);
  if (name.kind == "opencl") return make_opencl_device(name);
  if (name.kind == "cuda") return make_cuda_executor(name);
  if (name.kind == "openvino") return make_openvino_executor(name);
  if (name.kind == "sim") return make_sim_device(name);
  return make_plugin_device(name, find_plugin(name.kind));
}

bool is_known(const DeviceName& name) {
  const bool has_unit = name.kind == "cpu" ? name.settings.empty() : name.text.size() > name.kind.size();
  constexpr std::string_view kinds[] = {"cpu", "opencl", "cuda", "openvino", "sim"};
  return has_unit && (std::ranges::find(kinds, name.kind) != std::end(kinds) || find_plugin(name.kind));
}

Result<std::shared_ptr<Executor>> make_new(const std::string& text) {
  const DeviceName name = TRY(with_context(DeviceName::parse(text), "device '{}'", text));
  if (is_known(name)) return with_context(make_of_kind(name), "device '{}'", text);
  const Status plugins = check_plugins_of_environment();
  return fail(ErrorKind::not_found,
              "no device '{}'; there are: cpu, cpu:CORES (as in cpu:0-1+4), opencl:N (an OpenCL device; on "
              "some cores: opencl:N?cores=0-1), "
              "cuda:N (an NVIDIA GPU), "
              "openvino:NAME (a device of OpenVINO's, as in openvino:GPU), "
              "sim:N (N any number, with ?slowdown=X&latency_us=X&gbps=X&direct=1&times=FILE.json), "
              "and those of plug-ins (--plugin, INTARSIA_PLUGINS){}",
              text, plugins ? "" : "; " + plugins.error().message);
}

}  // namespace

Result<std::shared_ptr<Executor>> make_device(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Executor>> devices;
  std::lock_guard lock(mutex);
  std::erase_if(devices, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Executor>& known = devices[name];
  if (std::shared_ptr<Executor> device = known.lock(); device != nullptr && !device->is_lost()) return device;
  const Result<std::shared_ptr<Executor>> device = make_new(name);
  if (device) {
    known = *device;
  } else {
    devices.erase(name);
  }
  return device;
}

std::string timed_device(const std::string& name) {
  const std::shared_ptr<const Plugin> plugin = find_plugin(std::string(device_kind(name)));
  const bool is_declared =
      plugin != nullptr && plugin->compiler() != nullptr && plugin->compiler()->cost != nullptr;
  return !is_declared || make_device(name) ? name : name + std::string(declared_setting);
}

Result<uint32_t> count_queues(const std::string& text) {
  const auto count = [&]() -> Result<uint32_t> {
    const DeviceName name = TRY(DeviceName::parse(text));
    if (name.kind == "sim") {
      const SimSettings settings = TRY(read_sim_settings(name.settings));
      return settings.times.empty() ? 1 : TRY(read_declared_times(settings.times)).queues;
    }
    const auto plugin = find_plugin(name.kind);
    if (plugin == nullptr) return 1;
    TRY(check_plugin_settings(*plugin, name.settings));
    return plugin->runtime().compute_queues;
  };
  return with_context(count(), "device '{}'", text);
}

DeviceFeatures device_features(const std::string& text) {
  const Result<DeviceName> name = DeviceName::parse(text);
  if (!name) return {};
  if (name->kind == "cuda") return {.is_gpu = true};
  if (name->kind != "opencl") return {};
  const Result<const OpenclDevice*> device = find_opencl_device(*name);
  if (!device) return {.has_f64 = false};
  return {.is_gpu = !(*device)->is_cpu, .has_f64 = (*device)->has_f64};
}

namespace {

void add_opencl_devices(std::vector<DeviceInfo>& list) {
  const auto devices = opencl_devices();
  if (!devices) {
    list.push_back({"opencl:0", "not available: " + devices.error().message, devices.error().message});
    return;
  }
  for (const OpenclDevice& device : *devices)
    list.push_back({device.label, fmt::format("{} ({}, {})", device.name, device.platform, device.version),
                    device.is_cpu ? "its cores are those of cpu" : ""});
}

void add_cuda_devices(std::vector<DeviceInfo>& list) {
  const auto devices = cuda_devices();
  if (!devices) {
    list.push_back({"cuda:0", "not available: " + devices.error().message, devices.error().message});
    return;
  }
  for (const CudaDevice& device : *devices)
    list.push_back({fmt::format("cuda:{}", &device - devices->data()),
                    fmt::format("{} ({})", device.name, device.version), ""});
}

}  // namespace

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> list;
  add_opencl_devices(list);
  add_cuda_devices(list);
  list.insert(
      list.begin(),
      {{"cpu", fmt::format("the host, {} hardware threads", std::thread::hardware_concurrency())},
       {"cpu:" + CoreSet::of_this_thread().text(),
        "some of its cores by number, which share the host's memory with all others", "a part of cpu"}});
  list.push_back(
      {"sim:0", "CPU memory that pretends to be a separate device, for trying placements", "a simulation"});
  return list;
}

}  // namespace intarsia
