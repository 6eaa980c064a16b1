// Programs that a CUDA device's driver assembles from PTX, each once per process.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "device/cuda/devices.h"

namespace intarsia {

/// Programs of one device. Thread-safe. The driver itself caches assembled code for all processes of the
/// user.
class CudaPrograms {
 public:
  explicit CudaPrograms(const CudaDevice& device) : device_(device) {}
  ~CudaPrograms();
  CudaPrograms(const CudaPrograms&) = delete;
  CudaPrograms& operator=(const CudaPrograms&) = delete;

  /// Finds a kernel by name; it lives as long as this object. `text` ends with a zero byte. Error
  /// (unsupported): the driver refuses the text; the message has its log.
  Result<CudaFunction> find(std::string_view text, const char* entry);

 private:
  Result<CudaModule> load(std::string_view text);

  const CudaDevice& device_;
  std::mutex mutex_;
  std::map<std::string, CudaModule> modules_;  // indexed by digest of the text
};

}  // namespace intarsia
