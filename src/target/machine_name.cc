#include "target/machine_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

namespace intarsia {
namespace {

/// Removes white space and zero bytes at both ends.
std::string trim(const std::string& text) {
  constexpr std::string_view blank(" \t\r\n\0", 5);
  const size_t begin = text.find_first_not_of(blank);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(blank) + 1 - begin);
}

/// Reads a file; empty if it is missing or cannot be read.
std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return trim({std::istreambuf_iterator<char>(file), {}});
}

/// Returns the value of a line "field : value".
std::string value_of(const std::string& line, std::string_view field) {
  const size_t colon = line.find(':');
  return colon == std::string::npos || trim(line.substr(0, colon)) != field ? ""
                                                                            : trim(line.substr(colon + 1));
}

/// Finds the model: its name, or implementer and part of its cores, which may be of several kinds.
std::string find_model(const std::string& cpuinfo) {
  std::set<std::string> parts;
  std::string implementer;
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line);) {
    if (const std::string name = value_of(line, "model name"); !name.empty()) return name;
    if (const std::string code = value_of(line, "CPU implementer"); !code.empty()) implementer = code;
    if (const std::string part = value_of(line, "CPU part"); !part.empty())
      parts.insert(fmt::format("CPU {} part {}", implementer, part));
  }
  return fmt::format("{}", fmt::join(parts, " + "));
}

std::string describe_architecture(const MachineFacts& facts) {
  return facts.max_khz.empty() ? facts.architecture
                               : fmt::format("{} at {} kHz", facts.architecture, facts.max_khz);
}

}  // namespace

std::string machine_name(const MachineFacts& facts) {
  std::string model = find_model(facts.cpuinfo);
  if (model.empty()) model = facts.board;
  if (model.empty()) model = describe_architecture(facts);
  std::string name = fmt::format("{}, {} cores", model, facts.cores);
  if (!facts.caches.empty()) name += fmt::format(", caches {}", fmt::join(facts.caches, " "));
  return name;
}

MachineFacts read_machine_facts() {
  MachineFacts facts{.cpuinfo = read_text("/proc/cpuinfo"), .cores = std::thread::hardware_concurrency()};
  facts.board = read_text("/sys/devices/virtual/dmi/id/product_name");
  if (facts.board.empty()) facts.board = read_text("/proc/device-tree/model");
  if (utsname system; uname(&system) == 0) facts.architecture = system.machine;
  const std::string core = "/sys/devices/system/cpu/cpu0/";
  facts.max_khz = read_text(core + "cpufreq/cpuinfo_max_freq");
  for (int i = 0; i < 8; ++i) {
    const std::string size = read_text(fmt::format("{}cache/index{}/size", core, i));
    if (!size.empty()) facts.caches.push_back(size);
  }
  return facts;
}

}  // namespace intarsia
