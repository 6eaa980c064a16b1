#include "device/sleep_until.h"

#include <sys/prctl.h>

#include <chrono>
#include <thread>

#include "base/clock.h"

namespace intarsia {

/// Sleeps with 1 ns of timer slack, then restores the default, with which the kernel may wake a sleeper 50 us
/// late, more than a copy takes.
void sleep_until(int64_t time_ns) {
  if (clock_nanoseconds() >= time_ns) return;
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  std::this_thread::sleep_until(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(time_ns)));
  prctl(PR_SET_TIMERSLACK, 0UL, 0, 0, 0);
}

}  // namespace intarsia
