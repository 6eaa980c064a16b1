// File that removes itself.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace intarsia {

/// File in the system's temporary folder (TMPDIR), empty at first, removed by the destructor. Move-only.
class TemporaryFile {
 public:
  /// Creates a file whose name is `name`, a hyphen and six random characters.
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
