// CUDA devices of a build without them.
#include "base/left_out.h"
#include "device/cuda/devices.h"
#include "device/cuda/executor.h"

namespace intarsia {
namespace {

tl::unexpected<Error> no_cuda() { return left_out("CUDA", "INTARSIA_WITH_CUDA"); }

}  // namespace

Result<std::span<const CudaDevice>> cuda_devices() { return no_cuda(); }
Result<std::shared_ptr<Executor>> make_cuda_executor(const DeviceName&) { return no_cuda(); }

}  // namespace intarsia
