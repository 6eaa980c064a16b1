// Programs as a driver built them, kept in files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/opencl_devices.h"

namespace intarsia {

/// In the user's cache folder, a file for each program, device, driver and choice of options. Without a
/// folder, or where files cannot be written, it stays empty. Thread-safe; processes share it.
class OpenclBinaries {
 public:
  OpenclBinaries(const OpenclDevice& device, std::string options);

  /// `digest`: of the program's text. A file that is damaged is not there.
  std::optional<std::vector<std::byte>> find(const std::string& digest) const;
  void add(const std::string& digest, cl_program program) const;
  std::string path(const std::string& digest) const;

 private:
  const OpenclDevice& device_;
  std::string options_;
  std::string folder_;  // empty: none
};

}  // namespace intarsia
