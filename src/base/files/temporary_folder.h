// Folder that is removed, with all its contents, when its object is destroyed.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/result.h"

namespace intarsia {

/// Folder in the system's temporary folder (TMPDIR), empty at first, which other users may not enter; removed
/// by the destructor. Move-only.
class TemporaryFolder {
 public:
  /// Creates a folder whose name is `name`, a hyphen and six random characters.
  static Result<TemporaryFolder> make(const std::string& name);
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }
  /// Returns the path of a file or folder in it.
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;  // empty after a move
};

}  // namespace intarsia
