// A file that removes itself.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace intarsia {

/// An empty file in the system's temporary folder (TMPDIR), removed by the destructor. Move-only.
class TemporaryFile {
 public:
  /// "intarsia-check" makes /tmp/intarsia-check-XXXXXX.
  static Result<TemporaryFile> make(const std::string& name);
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFile();
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace intarsia
