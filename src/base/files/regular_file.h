// Files that a user names for reading. Only regular files are opened: opening a pipe waits for its writer,
// and a device may do anything.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace intarsia {

/// Returns the kind of a non-regular file by its st_mode: "a folder", "a pipe", "a socket" or "a device".
const char* kind_of_file(mode_t mode);

/// Regular file, open for reading. Move-only.
class RegularFile {
 public:
  /// Opens a file; follows links and never blocks. Errors do not name the path: "No such file or directory",
  /// "it is a pipe, not a regular file".
  static Result<RegularFile> open(const std::string& path);
  /// Makes a file in memory, without a name, that holds a copy of these bytes and can no longer be changed.
  /// /proc shows `name`.
  static Result<RegularFile> of_bytes(std::span<const std::byte> bytes, const std::string& name);
  RegularFile(RegularFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_) {}
  RegularFile& operator=(RegularFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~RegularFile();

  int descriptor() const { return descriptor_; }
  size_t bytes() const { return bytes_; }

 private:
  explicit RegularFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
  size_t bytes_ = 0;
};

/// Checks a file that a loader or framework will open by path.
Status check_regular_file(const std::string& path);

/// Checks all files directly in a folder. A folder that does not exist has none.
Status check_regular_files_in(const std::string& folder);

}  // namespace intarsia
