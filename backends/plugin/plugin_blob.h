// What Intarsia writes around the blob of a plug-in, and reads before the plug-in sees a byte of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace intarsia::plugin {

/// What a node takes, as the plug-in declares it.
struct DeclaredCost {
  std::string label;  // "conv1: Conv"; empty: names are not kept
  uint64_t nanoseconds = 0;
  bool operator==(const DeclaredCost&) const = default;
};

struct BlobHeader {
  std::string name, version;  // of the plug-in that compiled it
  uint64_t inputs = 0, outputs = 0, constants = 0;
  std::vector<DeclaredCost> costs = {};  // of each node; none: nothing is declared
  bool operator==(const BlobHeader&) const = default;
};

struct ReadBlob {
  BlobHeader header;
  std::span<const std::byte> bytes;  // the plug-in's own, at a multiple of 64 from the blob's beginning
};

std::string encode_blob(const BlobHeader& header, std::string_view bytes);

/// Views the blob. Error: damaged bytes.
Result<ReadBlob> decode_blob(std::span<const std::byte> blob);

}  // namespace intarsia::plugin
