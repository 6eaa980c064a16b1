// A device that pretends to have its own memory at the other end of a link, so that copies, placement and
// overlap can be tried on any machine, against exact arithmetic where it declares its times. It sleeps where
// real hardware would be busy, which leaves the core to others.
#pragma once

#include <string_view>

#include "device/executor.h"

namespace intarsia {

struct SimSettings {
  double slowdown = 1;     // a run takes this many times as long as on the host
  double latency_us = 10;  // of every copy
  double gbps = 10;        // link bandwidth, 10^9 bytes per second; the link carries one copy at a time
  double direct = 0;       // 1: it copies directly from others that do, over its own link
  std::string times;       // path of a file with declared times; empty: runs take the host's time
  bool operator==(const SimSettings&) const = default;
};

/// "slowdown=2&latency_us=10&gbps=5&direct=1&times=FILE.json" in any order; settings not named keep their
/// defaults.
Result<SimSettings> parse_sim_settings(std::string_view text);

/// With declared times (declared_times.h) a run takes as long as is declared, however long it takes to
/// compute: results are kept and given again for the same inputs. Error: the file cannot be read.
Result<std::shared_ptr<Executor>> make_sim_executor(const std::string& name, SimSettings settings);

/// In place of a device of another kind.
std::shared_ptr<Executor> make_stand_in(const std::string& name, const std::string& kind,
                                        const SimSettings& settings);

}  // namespace intarsia
