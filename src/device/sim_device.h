// A device that pretends to have a memory of its own behind a link, so that copies, placement and overlap can
// be tried on any machine. It waits where real hardware would be busy, and leaves the core to others
// meanwhile.
#pragma once

#include <string_view>

#include "device/device.h"

namespace intarsia {

struct SimSettings {
  double slowdown = 1;     // a run takes this many times as long as on the host
  double latency_us = 10;  // of every copy
  double gbps = 10;        // link bandwidth, 10^9 bytes per second; the link carries one copy at a time
  bool operator==(const SimSettings&) const = default;
};

/// "slowdown=2&latency_us=10&gbps=5" in any order; what is not named keeps its default.
Result<SimSettings> parse_sim_settings(std::string_view text);

std::shared_ptr<Device> make_sim_device(const std::string& name, const SimSettings& settings);

}  // namespace intarsia
