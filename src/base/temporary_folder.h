// A folder that is removed, with all its contents, when its object goes away.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/result.h"

namespace intarsia {

/// An empty folder in the system's temporary folder (TMPDIR), which no other user may enter; removed at the
/// end. Move-only.
class TemporaryFolder {
 public:
  /// "intarsia-link" makes /tmp/intarsia-link-XXXXXX.
  static Result<TemporaryFolder> make(const std::string& name);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  /// Of a file or folder in it.
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;  // empty: moved away
};

}  // namespace intarsia
