// Envelope that Intarsia writes around the blob of a plug-in, and reads before the plug-in sees a byte of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace intarsia::plugin {

/// Time of a node, as the plug-in declares it.
struct DeclaredCost {
  std::string label;  // "conv1: Conv"; empty: names are not kept
  uint64_t nanoseconds = 0;
  bool operator==(const DeclaredCost&) const = default;
};

struct BlobHeader {
  std::string name, version;  // plug-in that compiled it
  uint64_t inputs = 0, outputs = 0, constants = 0;
  std::vector<DeclaredCost> costs = {};  // cost of each node; empty if nothing is declared
  bool operator==(const BlobHeader&) const = default;
};

struct ReadBlob {
  BlobHeader header;
  std::span<const std::byte> bytes;  // the plug-in's own, at a multiple of 64 from the blob's start
};

std::string encode_blob(const BlobHeader& header, std::string_view bytes);

/// Reads a blob, which the result views. Error: damaged bytes.
Result<ReadBlob> decode_blob(std::span<const std::byte> blob);

}  // namespace intarsia::plugin
