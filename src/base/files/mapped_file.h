// Files mapped read-only.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace intarsia {

/// Mapping that lives as long as `owner`. An empty file has an empty span. There is no guard against a file
/// that shrinks while mapped.
struct MappedFile {
  std::span<const std::byte> bytes;
  std::shared_ptr<void> owner;
};

Result<MappedFile> map_file(const std::string& path);

}  // namespace intarsia
