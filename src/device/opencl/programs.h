// Programs that an OpenCL device's driver builds from their text, each once per machine.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "device/opencl/binaries.h"

namespace intarsia {

/// Programs of one device. Thread-safe: one program is built at a time.
class OpenclPrograms {
 public:
  explicit OpenclPrograms(const OpenclDevice& device);
  ~OpenclPrograms();
  OpenclPrograms(const OpenclPrograms&) = delete;
  OpenclPrograms& operator=(const OpenclPrograms&) = delete;

  /// Builds a program, which lives as long as this object. Error (unsupported): the driver refuses the text;
  /// the message has its log.
  Result<cl_program> build(std::string_view text);

 private:
  Result<cl_program> build_from_source(std::string_view text) const;
  cl_program load_binary(const std::string& digest) const;
  std::string build_log(cl_program program) const;

  const OpenclDevice& device_;
  std::string options_;
  OpenclBinaries binaries_;
  std::mutex mutex_;
  std::map<std::string, cl_program> programs_;  // indexed by digest of the text
};

}  // namespace intarsia
