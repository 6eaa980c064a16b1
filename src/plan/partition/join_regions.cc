#include "plan/partition/join_regions.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace intarsia {
namespace {

constexpr uint32_t none = 0xffffffff;

/// Joiner of regions, which it takes in order. Regions of one target that cannot be joined are a chain, each
/// leading to the next through another target's region, so a region that cannot join the last of the chain
/// can join none. Hence it looks only at the segment of the order between the two, and at every segment once
/// per target.
class Joiner {
 public:
  Joiner(std::vector<Region>& regions, const std::vector<std::vector<uint32_t>>& reads)
      : regions_(regions),
        reads_(reads),
        joined_to_(regions.size()),
        order_(regions.size()),
        visited_(regions.size(), none) {
    std::iota(joined_to_.begin(), joined_to_.end(), 0u);
    std::iota(order_.begin(), order_.end(), 0u);
    place_ = order_;
  }

  void run() {
    std::map<uint32_t, uint32_t> last_of_target;
    for (uint32_t region = 0; region < regions_.size(); ++region) {
      auto [last, is_first] = last_of_target.try_emplace(regions_[region].target, region);
      if (is_first) continue;
      if (find_ancestors(last->second, region))
        join(last->second, region);
      else
        last->second = region;
    }
    std::vector<Region> kept;
    for (uint32_t region : order_) {
      if (region == none) continue;
      std::ranges::sort(regions_[region].nodes);
      kept.push_back(std::move(regions_[region]));
    }
    regions_ = std::move(kept);
  }

 private:
  uint32_t find(uint32_t region) {
    while (joined_to_[region] != region) region = joined_to_[region] = joined_to_[joined_to_[region]];
    return region;
  }

  /// Marks the regions between the two that lead to `region`. Returns false if `first` leads to one of those.
  bool find_ancestors(uint32_t first, uint32_t region) {
    std::vector<uint32_t> stack = {region};
    while (!stack.empty()) {
      const uint32_t at = stack.back();
      stack.pop_back();
      for (uint32_t read : reads_[at]) {
        read = find(read);
        if (read == first && at != region) return false;
        if (place_[read] <= place_[first] || visited_[read] == region) continue;
        visited_[read] = region;
        stack.push_back(read);
      }
    }
    return true;
  }

  /// Makes `region` part of `first`, which moves after everything that leads to `region`.
  void join(uint32_t first, uint32_t region) {
    const uint32_t begin = place_[first], end = place_[region];
    std::vector<uint32_t> before, after = {first};
    for (uint32_t place = begin + 1; place < end; ++place) {
      const uint32_t at = order_[place];
      if (at != none) (visited_[at] == region ? before : after).push_back(at);
    }
    before.insert(before.end(), after.begin(), after.end());
    std::fill(order_.begin() + begin, order_.begin() + end + 1, none);
    for (uint32_t i = 0; i < before.size(); ++i) {
      order_[begin + i] = before[i];
      place_[before[i]] = begin + i;
    }
    joined_to_[region] = first;
    reads_[first].insert(reads_[first].end(), reads_[region].begin(), reads_[region].end());
    std::vector<NodeId>& nodes = regions_[first].nodes;
    nodes.insert(nodes.end(), regions_[region].nodes.begin(), regions_[region].nodes.end());
  }

  std::vector<Region>& regions_;
  std::vector<std::vector<uint32_t>> reads_;
  std::vector<uint32_t> joined_to_;  // itself, or a region towards the one that took it in
  std::vector<uint32_t> order_;      // regions as they can run; none where a place became free
  std::vector<uint32_t> place_;      // place of each region in the order
  std::vector<uint32_t> visited_;    // region for which it was last marked
};

}  // namespace

void join_regions(std::vector<Region>& regions, const std::vector<std::vector<uint32_t>>& reads) {
  Joiner(regions, reads).run();
}

}  // namespace intarsia
