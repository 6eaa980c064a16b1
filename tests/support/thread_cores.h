// Cores that the threads of this process may use.
#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/core_set.h"

namespace intarsia::test {

/// Returns the cores of each thread whose name in the system is one of these.
inline std::vector<CoreSet> cores_of_threads(const std::set<std::string>& names) {
  std::vector<CoreSet> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(task.path() / "comm"), status(task.path() / "status");
    std::string line;
    if (!std::getline(comm, line) || !names.contains(line)) continue;
    constexpr std::string_view key = "Cpus_allowed_list:\t";
    while (std::getline(status, line)) {
      if (!line.starts_with(key)) continue;
      std::string text = line.substr(key.size());
      for (char& c : text) c = c == ',' ? '+' : c;
      found.push_back(CoreSet::parse(text).value());
    }
  }
  return found;
}

}  // namespace intarsia::test
