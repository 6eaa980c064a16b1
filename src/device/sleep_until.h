// Waiting that burns no core.
#pragma once

#include <cstdint>

namespace intarsia {

/// Until that time of clock_nanoseconds(), as exactly as the system can.
void sleep_until(int64_t time_ns);

}  // namespace intarsia
