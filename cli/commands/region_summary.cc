#include "cli/commands/region_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

namespace {

constexpr size_t most_lines = 8;

std::string print_region(const Json& region) {
  return fmt::format("  region {:<2} {}: {}\n", region["id"].get<size_t>(),
                     region["target"].get<std::string>(), count_of(region["nodes"], "node"));
}

/// Formats "14 on halide@cpu (210 nodes), 13 on onnxruntime@cpu (13 nodes)": the target with most nodes
/// first.
std::string count_by_target(const Json& regions) {
  struct Share {
    size_t nodes = 0, regions = 0;
    std::string target;
  };
  std::map<std::string, Share> shares;
  for (const Json& region : regions) {
    Share& share = shares[region["target"]];
    share.target = region["target"];
    share.nodes += region["nodes"].get<size_t>();
    ++share.regions;
  }
  std::vector<Share> sorted;
  for (const auto& [target, share] : shares) sorted.push_back(share);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Share& a, const Share& b) { return a.nodes > b.nodes; });
  std::vector<std::string> parts;
  for (const Share& share : sorted)
    parts.push_back(fmt::format("{} on {} ({})", share.regions, share.target, count_of(share.nodes, "node")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string print_regions(const Json& function, const std::string& explained, bool lists_all) {
  constexpr size_t largest_lines = 3;
  std::vector<Json> regions = function["regions"];
  std::string text;
  const bool are_many = regions.size() > most_lines && !lists_all;
  if (are_many) {
    text = fmt::format("  regions   {}: {}\n", regions.size(), count_by_target(function["regions"]));
    std::stable_sort(regions.begin(), regions.end(),
                     [](const Json& a, const Json& b) { return a["nodes"] > b["nodes"]; });
    regions.resize(largest_lines);
  }
  for (const Json& region : regions) text += print_region(region);
  if (are_many) text += fmt::format("  ...       all of them: intarsia explain {}\n", explained);
  return text;
}

std::string print_copies(const Json& function) {
  const Json& copies = function["copies"];
  if (copies.size() > most_lines) {
    std::map<std::string, size_t> ways;
    double bytes = 0;
    for (const Json& copy : copies) {
      ++ways[fmt::format("{} -> {}", copy["from"].get<std::string>(), copy["to"].get<std::string>())];
      bytes += copy["bytes"].is_null() ? 0 : copy["bytes"].get<double>();
    }
    std::vector<std::string> parts;
    for (const auto& [way, count] : ways) parts.push_back(fmt::format("{} {}", count, way));
    return fmt::format("  copies    {}, {}: {}\n", copies.size(), print_bytes(bytes), fmt::join(parts, ", "));
  }
  std::string text;
  for (const Json& copy : copies) {
    text += fmt::format("  copy      {}: {} -> {}, {}\n", copy["value"].get<std::string>(),
                        copy["from"].get<std::string>(), copy["to"].get<std::string>(),
                        copy["bytes"].is_null() ? "?" : print_bytes(copy["bytes"]));
  }
  return text;
}
