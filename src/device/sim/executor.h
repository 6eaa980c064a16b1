// Simulated device with its own memory at the other end of a link, for trying copies, placement and overlap
// on any machine, against exact arithmetic if it declares its times. It sleeps where real hardware would be
// busy, which leaves the core to others.
#pragma once

#include <span>

#include "base/device_name.h"
#include "device/executor.h"

namespace intarsia {

struct SimSettings {
  double slowdown = 1;     // time of a run, relative to the host
  double latency_us = 10;  // latency of each copy
  double gbps = 10;        // link bandwidth, 10^9 bytes per second; the link carries one copy at a time
  double direct = 0;       // 1 to copy directly between devices that all have it, over the own link
  std::string times;       // path of a file with declared times; if empty, runs take the host's time
  bool operator==(const SimSettings&) const = default;
};

/// Reads slowdown=2, latency_us=10, gbps=5, direct=1 and times=FILE.json in any order; settings not named
/// keep their defaults.
Result<SimSettings> read_sim_settings(std::span<const DeviceSetting> from);

/// Makes a simulated device. With declared times (declared_times.h), a run takes the declared time: results
/// are kept and returned again for the same inputs, so that computing does not prolong it. Error: the file
/// cannot be read.
Result<std::shared_ptr<Executor>> make_sim_executor(const std::string& name, SimSettings settings);

/// Makes a stand-in for a device of another kind.
std::shared_ptr<Executor> make_stand_in(const std::string& name, const std::string& kind,
                                        const SimSettings& settings);

}  // namespace intarsia
