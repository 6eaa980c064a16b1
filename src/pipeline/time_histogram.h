// Histogram of times, with four buckets for each doubling.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace intarsia {

/// Histogram whose first bucket holds times below 1 us, and whose last all from about 50 s on.
class TimeHistogram {
 public:
  static constexpr size_t size = 104;

  void add(int64_t nanoseconds) { ++counts_[bucket_of(nanoseconds)]; }
  const std::array<uint64_t, size>& counts() const { return counts_; }

  /// Returns the time that all times in the bucket are below; INT64_MAX for the last bucket.
  static constexpr int64_t bound_ns(size_t bucket) {
    if (bucket >= size - 1) return INT64_MAX;
    if (bucket == 0) return 4 * step_ns;
    const size_t octave = (bucket - 1) / 4, quarter = (bucket - 1) % 4;
    return (step_ns * static_cast<int64_t>(5 + quarter)) << octave;
  }

 private:
  static constexpr int64_t step_ns = 250;  // quarter of the first octave, which starts at 1 us

  static constexpr size_t bucket_of(int64_t nanoseconds) {
    const auto steps = static_cast<uint64_t>(std::max<int64_t>(nanoseconds, 0) / step_ns);
    if (steps < 4) return 0;
    const auto octave = static_cast<size_t>(std::bit_width(steps)) - 3;
    return std::min<size_t>(1 + 4 * octave + ((steps >> octave) & 3), size - 1);
  }

  std::array<uint64_t, size> counts_{};
};

}  // namespace intarsia
