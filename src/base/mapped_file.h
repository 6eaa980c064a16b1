// A file mapped read-only.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace intarsia {

/// The mapping lives as long as `owner`. An empty file has an empty span. A file that shrinks while it is
/// mapped cannot be guarded against.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<void> owner;
};

Result<MappedFile> map_file(const std::string& path);

}  // namespace intarsia
