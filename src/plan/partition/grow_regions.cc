#include "plan/partition/grow_regions.h"

#include <algorithm>
#include <queue>

#include "plan/partition/join_regions.h"

namespace intarsia {
namespace {

using Waves = std::vector<Region>;

/// Counts the edges that lead to each vertex.
std::vector<uint32_t> count_missing(const Neighbors& next) {
  std::vector<uint32_t> missing(next.size(), 0);
  for (const std::vector<uint32_t>& readers : next) {
    for (uint32_t reader : readers) ++missing[reader];
  }
  return missing;
}

/// Grows waves, starting with target `start`; each wave after it goes to the target with the most ready
/// nodes.
Waves grow_waves(const Neighbors& next, std::vector<uint32_t> missing, const std::vector<uint32_t>& target_of,
                 uint32_t targets, uint32_t start) {
  std::vector<std::vector<uint32_t>> ready(targets);
  for (uint32_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) ready[target_of[i]].push_back(i);
  }
  Waves waves;
  for (uint32_t target = start; true;) {
    if (!ready[target].empty()) {
      Region region{target, {}};
      while (!ready[target].empty()) {
        const uint32_t node = ready[target].back();
        ready[target].pop_back();
        region.nodes.push_back(NodeId{node});
        for (uint32_t reader : next[node]) {
          if (--missing[reader] == 0) ready[target_of[reader]].push_back(reader);
        }
      }
      std::ranges::sort(region.nodes);
      waves.push_back(std::move(region));
    }
    auto most = std::ranges::max_element(ready, {}, [](const auto& list) { return list.size(); });
    if (most->empty()) return waves;
    target = static_cast<uint32_t>(most - ready.begin());
  }
}

Waves grow_fewest_waves(const Neighbors& next, const std::vector<uint32_t>& target_of) {
  const std::vector<uint32_t> missing = count_missing(next);
  const uint32_t targets = 1 + *std::ranges::max_element(target_of);
  Waves best;
  for (uint32_t start = 0; start < targets; ++start) {
    Waves waves = grow_waves(next, missing, target_of, targets, start);
    if (best.empty() || waves.size() < best.size()) best = std::move(waves);
  }
  return best;
}

/// Contracts the graph: returns, for each region, those that read from it, each once.
Neighbors contract(const Neighbors& next, const Waves& waves) {
  const std::vector<uint32_t> region_of = number_nodes(waves, next.size());
  Neighbors contracted(waves.size());
  std::vector<uint32_t> last_writer(waves.size(), 0xffffffff);
  for (uint32_t r = 0; r < waves.size(); ++r) {
    for (NodeId node : waves[r].nodes) {
      for (uint32_t reader : next[index(node)]) {
        const uint32_t region = region_of[reader];
        if (region == r || last_writer[region] == r) continue;
        last_writer[region] = r;
        contracted[r].push_back(region);
      }
    }
  }
  return contracted;
}

/// Sorts regions so that each reads only from earlier ones; of those that are free to go, the one with the
/// first node goes first.
Waves sort_regions(Waves waves, const Neighbors& next) {
  const Neighbors contracted = contract(next, waves);
  std::vector<uint32_t> missing = count_missing(contracted);
  using Entry = std::pair<NodeId, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (uint32_t r = 0; r < waves.size(); ++r) {
    if (missing[r] == 0) ready.emplace(waves[r].nodes[0], r);
  }
  Waves sorted;
  while (!ready.empty()) {
    const uint32_t region = ready.top().second;
    ready.pop();
    for (uint32_t reader : contracted[region]) {
      if (--missing[reader] == 0) ready.emplace(waves[reader].nodes[0], reader);
    }
    sorted.push_back(std::move(waves[region]));
  }
  INTARSIA_CHECK(sorted.size() == waves.size());
  return sorted;
}

}  // namespace

std::vector<Region> grow_regions(const Neighbors& next, const std::vector<uint32_t>& target_of) {
  if (next.empty()) return {};
  Waves waves = grow_fewest_waves(next, target_of);
  join_regions(waves, reverse_edges(contract(next, waves)));
  return sort_regions(std::move(waves), next);
}

std::vector<uint32_t> number_nodes(const std::vector<Region>& regions, size_t nodes) {
  std::vector<uint32_t> region_of(nodes);
  for (uint32_t r = 0; r < regions.size(); ++r) {
    for (NodeId node : regions[r].nodes) region_of[index(node)] = r;
  }
  return region_of;
}

}  // namespace intarsia
