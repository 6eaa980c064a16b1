// Time span in which something ran.
#pragma once

#include <cstdint>

namespace intarsia {

/// Start and end by clock_nanoseconds().
struct TimeSpan {
  int64_t begin_ns = 0, end_ns = 0;
};

}  // namespace intarsia
