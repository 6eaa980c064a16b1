// Programs built by a driver, cached in files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/opencl/devices.h"

namespace intarsia {

/// Cache of binaries in the user's cache folder, with a file per program, device, driver and set of options.
/// It stays empty if there is no folder or files cannot be written. Thread-safe; shared between processes.
class OpenclBinaries {
 public:
  OpenclBinaries(const OpenclDevice& device, std::string options);

  /// Finds a binary by the digest of the program's text; nullopt if it is missing or damaged.
  std::optional<std::vector<std::byte>> find(const std::string& digest) const;
  void add(const std::string& digest, cl_program program) const;
  std::string path(const std::string& digest) const;

 private:
  const OpenclDevice& device_;
  std::string options_;
  std::string folder_;  // empty if there is none
};

}  // namespace intarsia
