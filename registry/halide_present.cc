#include "backends/halide/target.h"
#include "device/opencl_devices.h"
#include "registry/open_targets.h"

namespace intarsia {
namespace {

/// A device that this machine does not have counts as one that lacks it.
bool has_f64(const TargetDevice& device) {
  const Result<const OpenclDevice*> found = find_opencl_device(device.name);
  return found && (*found)->has_f64;
}

}  // namespace

TargetResult open_halide_target(const CompileRequest&) { return halide::make_target(has_f64); }

}  // namespace intarsia
