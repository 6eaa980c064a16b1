// Clock for all timing.
#pragma once

#include <chrono>
#include <cstdint>

namespace intarsia {

/// Returns the time of a steady clock.
inline int64_t clock_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace intarsia
