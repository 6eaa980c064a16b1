// Files that a user names for writing.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace intarsia {

/// Checks an output path before long work, so that its result is not lost. Errors: `path`, after links,
/// exists and is not a regular file, is one of `inputs` or in one that is a folder, or cannot be written.
Status check_output(const std::string& path, std::span<const std::string> inputs);

/// File that is written whole or not at all: it has a temporary name in the same folder until `commit`
/// renames it; until then the old file stays. Links are followed, so that they stay links. Move-only.
class OutputFile {
 public:
  /// Creates the temporary file. `mode`, before the umask, applies to a new file; a replaced file passes on
  /// its own mode. Errors name the path.
  static Result<OutputFile> create(const std::string& path, mode_t mode = 0666);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status write(std::span<const std::byte> bytes);
  /// Renames the file; when this returns, its contents are on disk.
  Status commit();

 private:
  explicit OutputFile(const std::string& path) : path_(path) {}
  tl::unexpected<Error> failed(std::string_view what) const;

  std::string path_;    // path given by the user
  std::string target_;  // path after links
  std::string name_;    // current name; empty if none, or committed
  int descriptor_ = -1;
};

/// Writes a file whole, or not at all.
Status write_whole(const std::string& path, std::string_view bytes, mode_t mode = 0666);

}  // namespace intarsia
