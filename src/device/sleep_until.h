// Waiting without burning a core.
#pragma once

#include <cstdint>

namespace intarsia {

/// Sleeps until this time of clock_nanoseconds(), as exactly as the system can.
void sleep_until(int64_t time_ns);

}  // namespace intarsia
