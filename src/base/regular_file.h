// Files that a user names for reading. Only regular ones are opened: opening a pipe waits for whoever writes
// to it, a device may do anything.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/result.h"

namespace intarsia {

/// "a folder", "a pipe", "a socket", "a device": the kind of what is not a regular file, by its st_mode.
const char* kind_of_file(mode_t mode);

/// A regular file, open for reading. Move-only.
class RegularFile {
 public:
  /// Follows links and never blocks. Errors do not name the path: "No such file or directory", "it is a pipe,
  /// not a regular file".
  static Result<RegularFile> open(const std::string& path);
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

/// For files that a loader or a framework opens by path.
Status check_regular_file(const std::string& path);

/// The same for all files directly in a folder. A folder that does not exist has none.
Status check_regular_files_in(const std::string& folder);

}  // namespace intarsia
