#include "device/sim/declared_times.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace intarsia {
namespace {

using Json = nlohmann::json;

constexpr double most_us = 3.6e9;  // 1 hour

Result<double> read_number(const Json& json, const std::string& what, double least) {
  const double number = json.is_number() ? json.get<double>() : std::nan("");
  if (number >= least && number <= most_us) return number;
  return fail("{}: got {}, want a number from {} to {}", what, json.dump(), least, most_us);
}

Status read_times(const Json& json, const std::string& what,
                  std::map<std::string, double, std::less<>>& times) {
  if (!json.is_object()) return fail("\"{}\": want an object of names and microseconds", what);
  for (const auto& [name, time] : json.items())
    times[name] = TRY(read_number(time, fmt::format("\"{}\", '{}'", what, name), 0));
  return {};
}

Status read_link(const Json& json, DeclaredTimes& times) {
  if (!json.is_object()) return fail("\"link\": want an object with \"latency_us\" and \"gbps\"");
  for (const auto& [name, number] : json.items()) {
    if (name == "latency_us")
      times.latency_us = TRY(read_number(number, "\"latency_us\"", 0));
    else if (name == "gbps")
      times.gbps = TRY(read_number(number, "\"gbps\"", 1e-6));
    else
      return fail("\"link\": unknown key \"{}\"; want \"latency_us\" or \"gbps\"", name);
  }
  return {};
}

Result<uint32_t> read_queues(const Json& json) {
  constexpr uint32_t most = 64;
  const bool is_number = json.is_number_unsigned();
  if (is_number && json.get<uint64_t>() >= 1 && json.get<uint64_t>() <= most) return json.get<uint32_t>();
  return fail("\"queues\": got {}, want a number from 1 to {}", json.dump(), most);
}

Result<DeclaredTimes> read(const Json& json) {
  DeclaredTimes times;
  if (!json.is_object()) return fail("want a JSON object");
  for (const auto& [name, part] : json.items()) {
    if (name == "nodes")
      TRY(read_times(part, name, times.nodes));
    else if (name == "regions")
      TRY(read_times(part, name, times.regions));
    else if (name == "default")
      times.default_us = TRY(read_number(part, "\"default\"", 0));
    else if (name == "link")
      TRY(read_link(part, times));
    else if (name == "queues")
      times.queues = TRY(read_queues(part));
    else
      return fail("unknown key \"{}\"; want \"nodes\", \"regions\", \"default\", \"link\" or \"queues\"",
                  name);
  }
  return times;
}

int64_t nanoseconds(double microseconds) { return std::llround(microseconds * 1e3); }

}  // namespace

Result<std::vector<int64_t>> DeclaredTimes::of_nodes(std::span<const std::string> source_nodes) const {
  if (source_nodes.empty()) return std::vector{nanoseconds(default_us.value_or(0))};
  std::vector<int64_t> times(source_nodes.size(), 0);
  if (const auto whole = regions.find(source_nodes[0]); whole != regions.end()) {
    times[0] = nanoseconds(whole->second);
    return times;
  }
  for (size_t i = 0; i < times.size(); ++i) {
    const auto declared = nodes.find(source_nodes[i]);
    if (declared == nodes.end() && !default_us)
      return fail("'{}' has no time for node '{}' of the region from '{}'; name it, or give a \"default\"",
                  path, source_nodes[i], source_nodes[0]);
    times[i] = nanoseconds(declared == nodes.end() ? *default_us : declared->second);
  }
  return times;
}

Result<DeclaredTimes> read_declared_times(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(ErrorKind::not_found, "cannot read the times in '{}'", path);
  constexpr bool no_exceptions = false;
  const Json json = Json::parse(file, nullptr, no_exceptions);
  if (json.is_discarded()) return fail("times in '{}': not JSON", path);
  DeclaredTimes times = TRY(with_context(read(json), "times in '{}'", path));
  times.path = path;
  return times;
}

}  // namespace intarsia
