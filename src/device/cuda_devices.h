// The CUDA devices of this machine, found once in a process.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda_api.h"

namespace intarsia {

/// Lives as long as the process.
struct CudaDevice {
  const CudaApi* api = nullptr;
  int number = 0;                 // in the driver's order: that of "cuda:N"
  CudaContext context = nullptr;  // the one that the process's other libraries use, too
  std::string name;
  std::string version;  // of its architecture and the driver
  int capability_major = 0, capability_minor = 0;
  uint32_t forks = 0;  // fork_count() when the driver was opened

  Status check(CudaCode code, const char* function) const;
  /// Before commands. Error: this process is a copy of the one that opened the driver, and the driver does
  /// not work in it.
  Status check_process() const;
};

/// While it lives, calls of this thread are the device's; then they are again those of whatever was before.
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

/// In the driver's order. Error (not_found): no driver, or no device, each with what to do. Thread-safe.
Result<std::span<const CudaDevice>> cuda_devices();

}  // namespace intarsia
