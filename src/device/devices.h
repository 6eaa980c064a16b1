// Devices by name. An unknown kind is an error that lists the known ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/device_features.h"
#include "base/result.h"
#include "device/executor.h"

namespace intarsia {

/// "cpu"; "cpu:0-1+4", the cores of these numbers; "opencl:N", the N-th OpenCL device, and
/// "opencl:N?cores=0-1", held to these; "cuda:N";
/// "openvino:GPU", a device of OpenVINO's, whether it has one or not; "NAME:N", the N-th device of the
/// plug-in NAME; or "sim:N" with settings: "sim:0?slowdown=2&latency_us=10&gbps=5". As long as a device is in
/// use, the same name gives the same one. Error: no such device, or cores that the calling thread may not
/// use. Thread-safe.
Result<std::shared_ptr<Executor>> make_device(const std::string& name);

/// Of the device of this name. One that this machine does not have counts as one that lacks what not all
/// have.
DeviceFeatures device_features(const std::string& name);

struct DeviceInfo {
  std::string name;
  std::string description;
  std::string why_not_automatic;  // why a planner that may choose devices does not use it; empty: it does
};

/// The devices of this machine, without those of plug-ins (list_plugin_devices()); where there is no OpenCL
/// or CUDA device, one of that name whose `why_not_automatic` says why.
std::vector<DeviceInfo> list_devices();

}  // namespace intarsia
