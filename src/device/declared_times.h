// What a simulated device says that its work takes.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// A JSON file, in microseconds:
///   {"nodes": {"conv1": 120, "relu1": 5}, "regions": {"pool": 80}, "default": 1,
///    "link": {"latency_us": 10, "gbps": 5}}
/// All parts are optional. `regions` are named by their first source node and take precedence; `default` is
/// of nodes that are not named.
struct DeclaredTimes {
  std::string path;  // of the file
  std::map<std::string, double, std::less<>> nodes, regions;
  std::optional<double> default_us;
  std::optional<double> latency_us, gbps;  // of the link

  /// Nanoseconds of each of a region's source nodes; of a region that is named, all at the first. Error: one
  /// of them has no time.
  Result<std::vector<int64_t>> of_nodes(std::span<const std::string> source_nodes) const;
};

/// Errors: the file is not there or not JSON, an unknown key, a time that is not a number of at least 0.
Result<DeclaredTimes> read_declared_times(const std::string& path);

}  // namespace intarsia
