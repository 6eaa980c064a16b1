// Files that a user names for writing.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace intarsia {

/// Error unless `path`, after links, is a regular file or does not exist yet, is neither one of `inputs` nor
/// in one that is a folder, and could be written now. Before long work, so that it is not lost.
Status check_output(const std::string& path, std::span<const std::string> inputs);

/// A file that is written whole or not at all: it is written under a temporary name in the same folder and
/// renamed by `commit`; until then the old file stays. Links are followed, so that they stay links.
/// Move-only.
class OutputFile {
 public:
  /// `mode` is that of a new file, before the umask; a file that is replaced passes on its own. Errors name
  /// the path.
  static Result<OutputFile> create(const std::string& path, mode_t mode = 0666);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status write(std::span<const std::byte> bytes);
  /// On the disk under its name when this returns.
  Status commit();

 private:
  explicit OutputFile(const std::string& path) : path_(path) {}
  tl::unexpected<Error> failed(std::string_view what) const;

  std::string path_;    // as the user named it
  std::string target_;  // after links
  std::string name_;    // its current name; empty: none, or committed
  int descriptor_ = -1;
};

}  // namespace intarsia
