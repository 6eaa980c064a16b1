// A device that pretends to have its own memory at the other end of a link, so that copies, placement and
// overlap can be tried on any machine. It sleeps where real hardware would be busy, which leaves the core to
// others.
#pragma once

#include <string_view>

#include "device/executor.h"

namespace intarsia {

struct SimSettings {
  double slowdown = 1;     // a run takes this many times as long as on the host
  double latency_us = 10;  // of every copy
  double gbps = 10;        // link bandwidth, 10^9 bytes per second; the link carries one copy at a time
  double direct = 0;       // 1: it copies directly from others that do, over its own link
  bool operator==(const SimSettings&) const = default;
};

/// "slowdown=2&latency_us=10&gbps=5&direct=1" in any order; settings not named keep their defaults.
Result<SimSettings> parse_sim_settings(std::string_view text);

std::shared_ptr<Executor> make_sim_executor(const std::string& name, const SimSettings& settings);

}  // namespace intarsia
