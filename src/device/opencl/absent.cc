// OpenCL devices of a build without them.
#include "base/left_out.h"
#include "device/opencl/devices.h"
#include "device/opencl/executor.h"

namespace intarsia {
namespace {

tl::unexpected<Error> no_opencl() { return left_out("OpenCL", "INTARSIA_WITH_OPENCL"); }

}  // namespace

Result<std::span<const OpenclDevice>> opencl_devices() { return no_opencl(); }
Result<const OpenclDevice*> find_opencl_device(const DeviceName&) { return no_opencl(); }
Result<std::shared_ptr<Executor>> make_opencl_executor(const DeviceName&) { return no_opencl(); }

}  // namespace intarsia
