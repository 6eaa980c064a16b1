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

/// Makes an executor on all host cores, or on those after "cpu:".
Result<std::shared_ptr<Executor>> make_cpu_executor(const std::string& name) {
  if (name == "cpu") return std::make_shared<Executor>(name, "cpu", host_memory_space());
  return std::make_shared<Executor>(
      name, "cpu", host_memory_space(),
      TRY(with_context(usable_cores(std::string_view(name).substr(4)), "device '{}'", name)));
}

/// Reads the N of "sim:N", "opencl:N" and "cuda:N", up to a question mark.
Result<size_t> read_number(const std::string& name) {
  const size_t colon = name.find(':'), mark = std::min(name.find('?'), name.size());
  const std::string number = name.substr(colon + 1, mark - colon - 1);
  if (number.empty() || number.size() > 4 ||
      !std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; })) {
    return fail("device '{0}': want {1}:N with a number, as in {1}:0", name, name.substr(0, colon));
  }
  return static_cast<size_t>(std::stoul(number));
}

/// Returns the text behind the question mark.
std::string_view settings_of(std::string_view name) {
  return name.substr(std::min(name.find('?'), name.size() - 1) + 1);
}

/// Makes the device "opencl:N" or, pinned to cores, "opencl:N?cores=0-1".
Result<std::shared_ptr<Executor>> make_opencl_device(const std::string& name) {
  constexpr std::string_view setting = "?cores=";
  TRY(read_number(name));
  const size_t mark = name.find('?');
  if (mark == std::string::npos) return make_opencl_executor(name, std::nullopt);
  const std::string_view settings = std::string_view(name).substr(mark);
  if (!settings.starts_with(setting))
    return fail("device '{}': an OpenCL device has one setting, as in {}?cores=0-1", name,
                name.substr(0, mark));
  return make_opencl_executor(
      name, TRY(with_context(usable_cores(settings.substr(setting.size())), "device '{}'", name)));
}

/// Makes an OpenVINO device, which copies from and to host memory itself.
Result<std::shared_ptr<Executor>> make_openvino_executor(const std::string& name) {
  const std::string device = name.substr(name.find(':') + 1);
  const bool is_name = !device.empty() && std::ranges::all_of(device, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_';
  });
  if (!is_name)
    return fail("device '{}': want a device of OpenVINO's, as in openvino:GPU or openvino:GPU.1", name);
  return std::make_shared<Executor>(name, "openvino", host_memory_space());
}

Result<std::shared_ptr<Executor>> make_new(const std::string& name) {
  if (name == "cpu" || name.starts_with("cpu:")) return make_cpu_executor(name);
  if (name.starts_with("opencl:")) return make_opencl_device(name);
  if (name.starts_with("cuda:") && !name.contains('?'))
    return with_context(make_cuda_executor(name, TRY(read_number(name))), "device '{}'", name);
  if (name.starts_with("openvino:")) return make_openvino_executor(name);
  if (name.starts_with("sim:")) {
    TRY(read_number(name));
    const auto settings = parse_sim_settings(settings_of(name));
    return make_sim_executor(name, TRY(with_context(settings, "device '{}'", name)));
  }
  if (name.ends_with(declared_setting)) {
    if (const auto plugin = find_plugin(name.substr(0, name.find(':'))); plugin != nullptr)
      return with_context(make_declared_executor(name, *plugin), "device '{}'", name);
  }
  if (auto plugin = find_plugin(name.substr(0, name.find(':'))); plugin != nullptr) {
    const auto settings =
        TRY(with_context(read_plugin_settings(*plugin, settings_of(name)), "device '{}'", name));
    return with_context(make_plugin_executor(name, std::move(plugin), TRY(read_number(name)), settings),
                        "device '{}'", name);
  }
  const Status plugins = check_plugins_of_environment();
  return fail(ErrorKind::not_found,
              "no device '{}'; there are: cpu, cpu:CORES (as in cpu:0-1+4), opencl:N (an OpenCL device; on "
              "some cores: opencl:N?cores=0-1), "
              "cuda:N (an NVIDIA GPU), "
              "openvino:NAME (a device of OpenVINO's, as in openvino:GPU), "
              "sim:N (N any number, with ?slowdown=X&latency_us=X&gbps=X&direct=1&times=FILE.json), "
              "and those of plug-ins (--plugin, INTARSIA_PLUGINS){}",
              name, plugins ? "" : "; " + plugins.error().message);
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
  const std::shared_ptr<const Plugin> plugin = find_plugin(name.substr(0, name.find(':')));
  const bool is_declared =
      plugin != nullptr && plugin->compiler() != nullptr && plugin->compiler()->cost != nullptr;
  return !is_declared || make_device(name) ? name : name + std::string(declared_setting);
}

Result<uint32_t> count_queues(const std::string& name) {
  const auto count = [&]() -> Result<uint32_t> {
    if (name.starts_with("sim:")) {
      const SimSettings settings = TRY(parse_sim_settings(settings_of(name)));
      return settings.times.empty() ? 1 : TRY(read_declared_times(settings.times)).queues;
    }
    const auto plugin = find_plugin(name.substr(0, name.find(':')));
    if (plugin == nullptr) return 1;
    TRY(read_plugin_settings(*plugin, settings_of(name)));
    return plugin->runtime().compute_queues;
  };
  return with_context(count(), "device '{}'", name);
}

DeviceFeatures device_features(const std::string& name) {
  if (name.starts_with("cuda:")) return {.is_gpu = true};
  if (!name.starts_with("opencl:")) return {};
  const Result<const OpenclDevice*> device = find_opencl_device(name);
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
