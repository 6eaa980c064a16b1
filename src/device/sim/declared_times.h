// Declared times of work on a simulated device.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Contents of a JSON file, in microseconds:
///   {"nodes": {"conv1": 120, "relu1": 5}, "regions": {"pool": 80}, "default": 1,
///    "link": {"latency_us": 10, "gbps": 5}, "queues": 2}
/// All parts are optional. `regions` are named by their first source node and take precedence; `default`
/// applies to nodes that are not named.
struct DeclaredTimes {
  std::string path;  // path of the file
  std::map<std::string, double, std::less<>> nodes, regions;
  std::optional<double> default_us;
  std::optional<double> latency_us, gbps;  // latency and bandwidth of the link
  uint32_t queues = 1;                     // number of regions that it runs at once

  /// Returns the nanoseconds of each source node of a region; a named region has its whole time at the first.
  /// Error: a node has no time.
  Result<std::vector<int64_t>> of_nodes(std::span<const std::string> source_nodes) const;
};

/// Reads the file. Errors: it is not there or not JSON, an unknown key, a time that is not a number of at
/// least 0.
Result<DeclaredTimes> read_declared_times(const std::string& path);

}  // namespace intarsia
