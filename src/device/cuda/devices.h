// CUDA devices of this machine, found once per process.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/api.h"

namespace intarsia {

/// CUDA device; lives as long as the process.
struct CudaDevice {
  const CudaApi* api = nullptr;
  int number = 0;                 // N of "cuda:N", in the driver's order
  CudaContext context = nullptr;  // primary context, shared with the process's other libraries
  std::string name;
  std::string version;  // versions of its architecture and the driver
  int capability_major = 0, capability_minor = 0;
  uint32_t forks = 0;  // fork_count() when the driver was opened

  Status check(CudaCode code, const char* function) const;
  /// Checks the process; call before commands. Error: this is a forked copy of the process that opened the
  /// driver, which does not work here.
  Status check_process() const;
};

/// Scope in which calls of this thread apply to the device; its end restores the former context.
class CudaScope {
 public:
  static Result<CudaScope> enter(const CudaDevice& device);
  CudaScope(CudaScope&& from) noexcept : api_(std::exchange(from.api_, nullptr)) {}
  CudaScope& operator=(CudaScope&&) = delete;
  ~CudaScope() {
    CudaContext left = nullptr;
    if (api_ != nullptr) api_->cuCtxPopCurrent(&left);
  }

 private:
  explicit CudaScope(const CudaApi* api) : api_(api) {}
  const CudaApi* api_;
};

/// Returns the devices in the driver's order. Thread-safe. Errors (not_found): no driver, or no device, each
/// with a remedy.
Result<std::span<const CudaDevice>> cuda_devices();

}  // namespace intarsia
