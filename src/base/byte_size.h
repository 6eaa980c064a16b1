// Byte counts as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace intarsia {

/// Prints a size as "64 bytes", "1.5 KB" or "12.0 MB"; a KB is 1024 bytes.
std::string print_byte_size(uint64_t bytes);

/// Parses a size in the same units: "4096", "64MB", "1.5 GB". Errors: any other text, less than one byte, or
/// about 2^63 bytes or more.
Result<uint64_t> parse_byte_size(std::string_view text);

}  // namespace intarsia
