// Numbers of bytes as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace intarsia {

/// "64 bytes", "1.5 KB", "12.0 MB": a KB is 1024 bytes.
std::string print_byte_size(uint64_t bytes);

/// The same read back, in the same units: "4096", "64MB", "1.5 GB". Error: anything else, no byte at all, or
/// more than 2^63.
Result<uint64_t> parse_byte_size(std::string_view text);

}  // namespace intarsia
