// Shape of an input as a user asks for it: numbers, and sizes that stay open until a program runs.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"

namespace intarsia {

/// Sizes that an axis may have.
struct SizeRange {
  /// Largest size of an open axis. Exporters end a slice at numbers from here on where they mean its end.
  static constexpr int64_t limit = 1'000'000'000;
  int64_t min = 0;
  int64_t max = limit;
  bool contains(int64_t size) const { return size >= min && size <= max; }
  /// Checks whether there is a largest size but the limit of all.
  bool has_end() const { return max < limit; }
  /// Returns the size to count memory with: the end; where there is none, the first to be fastest at, else
  /// the smallest of 1 or more.
  int64_t counted(const std::vector<int64_t>& tuned) const {
    return has_end() ? max : !tuned.empty() ? tuned[0] : std::clamp<int64_t>(1, min, max);
  }
  bool operator==(const SizeRange&) const = default;
};

struct RequestedSize {
  std::optional<int64_t> number;   // of a size that is fixed; absent: it stays open
  std::string name = {};           // name of an open size; empty: the model's
  std::optional<SizeRange> range;  // absent: any size
  std::vector<int64_t> tuned;      // sizes to be fastest at
};

struct RequestedShape {
  std::vector<RequestedSize> sizes;
  std::string text;  // as the user wrote it

  /// Fixes all sizes.
  static RequestedShape fixed(const Shape& shape);
};

/// Parses sizes joined by x, each a number ("8"), a name ("N"), which has no letter x, "?" for an open size
/// with the model's name, a range ("1..32"), sizes to be fastest at ("1,8,32"), or both ("1..32:1,8,32").
///   Nx3x224x224, 1..8x?   ->   an open N, 3, 224, 224; and 1 to 8, open
Result<RequestedShape> parse_requested_shape(std::string_view text);

}  // namespace intarsia
