// Files in memory, by which compilers take and give code.
#pragma once

#include <string>

#include "base/result.h"

namespace intarsia::halide {

/// Unnamed file in memory, which needs no disk space and ends with the process.
class MemoryFile {
 public:
  static Result<MemoryFile> make();
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;

  /// Returns a path that this process and those that it starts may open.
  std::string path() const;
  Status write(const std::string& bytes) const;
  /// Returns all bytes. Error: there are none.
  Result<std::string> read_all() const;

 private:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace intarsia::halide
