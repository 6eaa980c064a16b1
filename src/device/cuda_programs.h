// Programs as a CUDA device's driver assembles them from PTX, each once in a process.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "device/cuda_devices.h"

namespace intarsia {

/// Of one device. Thread-safe. The driver itself keeps what it assembled, for all processes of the user.
class CudaPrograms {
 public:
  explicit CudaPrograms(const CudaDevice& device) : device_(device) {}
  ~CudaPrograms();
  CudaPrograms(const CudaPrograms&) = delete;
  CudaPrograms& operator=(const CudaPrograms&) = delete;

  /// The kernel of this name. `text` ends with a zero byte. Lives as long as this. Error (unsupported): the
  /// driver refuses the text; the message has its log.
  Result<CudaFunction> find(std::string_view text, const char* entry);

 private:
  Result<CudaModule> load(std::string_view text);

  const CudaDevice& device_;
  std::mutex mutex_;
  std::map<std::string, CudaModule> modules_;  // by the digest of the text
};

}  // namespace intarsia
