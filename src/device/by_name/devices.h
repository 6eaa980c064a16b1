// Devices by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/device_features.h"
#include "base/result.h"
#include "device/device_info.h"
#include "device/executor.h"

namespace intarsia {

/// Returns the device of a name: "cpu"; "cpu:0-1+4", the cores of these numbers; "opencl:N", the N-th OpenCL
/// device, and "opencl:N?cores=0-1", pinned to these cores; "cuda:N"; "openvino:GPU", an OpenVINO device,
/// whether it exists or not; "NAME:N", the N-th device of the plug-in NAME; or "sim:N" with settings:
/// "sim:0?slowdown=2&latency_us=10&gbps=5". While a device is in use and not lost, its name gives the same
/// object. Thread-safe. Errors: no such device (the message of an unknown kind lists the known ones), or
/// cores that the calling thread may not use.
Result<std::shared_ptr<Executor>> make_device(const std::string& name);

/// Returns the name itself or, if the device cannot be opened and its plug-in declares costs, that of its
/// stand-in (declared_setting in device/plugin/device.h).
std::string timed_device(const std::string& name);

/// Returns how many regions a device runs at once; the device may be absent. Error: an unknown setting behind
/// the question mark of a simulation's or plug-in's name; the message lists the known ones.
Result<uint32_t> count_queues(const std::string& name);

/// Returns the features of a device by name. A device that this machine lacks counts as one without optional
/// features.
DeviceFeatures device_features(const std::string& name);

/// Lists the devices of this machine, without those of plug-ins (list_plugin_devices()). Where there is no
/// OpenCL or CUDA device, an entry of that name states the reason in `why_not_automatic`.
std::vector<DeviceInfo> list_devices();

}  // namespace intarsia
