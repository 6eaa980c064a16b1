// Time to place atoms by cost, for nets of up to 100,000 atoms with 300 distinct times. One JSON object on
// stdout.
//
//     build/bin/bench_placement [ATOMS]...
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "plan/place/place_by_cost.h"

namespace intarsia {
namespace {

constexpr size_t signatures = 300;

/// Net in which one atom in `foreign` can run on the host only. Two of three targets are in the host's
/// memory.
struct Net {
  const char* name;
  uint32_t targets;
  size_t width;  // parallel chains
  uint32_t foreign;
};

constexpr Net nets[] = {
    {"chain, 2 targets", 2, 1, 1000},
    {"16 chains that mix, 2 targets", 2, 16, 100},
    {"1024 chains that mix, 2 targets", 2, 1024, 10},
    {"chain, 3 targets", 3, 1, 1000},
    {"16 chains that mix, 3 targets", 3, 16, 100},
    {"1024 chains that mix, 3 targets", 3, 1024, 10},
};

/// Makes costs where atoms read their chain's last value and often one of another chain; times are 1 to 200
/// us on the host and up to ten times less, or somewhat more, on the others; values have 4 to 400 KB.
PlacementCosts make_problem(const Net& net, size_t atoms) {
  std::mt19937 random(1);
  PlacementCosts costs;
  costs.targets = {{host_memory, 3'000}, {1, 10'000}, {host_memory, 2'000}};
  costs.targets.resize(net.targets);
  const Link link{10'000, 0.1};
  costs.links = {{{}, link}, {link, {}}};
  std::vector<std::vector<int64_t>> times;
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < signatures; ++i) {
    const int64_t host = 1'000 + random() % 200'000;
    times.push_back({host, 2'000 + host * static_cast<int64_t>(1 + random() % 12) / 10,
                     host * static_cast<int64_t>(5 + random() % 10) / 10});
    times.back().resize(net.targets);
    bytes.push_back(4'000 + random() % 400'000);
  }
  std::vector<uint32_t> last;
  const auto add_value = [&](uint32_t producer, size_t signature) {
    costs.values.push_back({producer, {}, bytes[signature]});
    return static_cast<uint32_t>(costs.values.size() - 1);
  };
  for (size_t i = 0; i < net.width; ++i) last.push_back(add_value(no_atom, 0));
  for (uint32_t atom = 0; atom < atoms; ++atom) {
    const size_t signature = random() % signatures, own = last[atom % net.width];
    costs.times.push_back(times[signature]);
    if (random() % net.foreign == 0) {
      for (uint32_t t = 1; t < net.targets; ++t) costs.times.back()[t] = never;
    }
    costs.values[own].readers.push_back(atom);
    const uint32_t other = last[random() % net.width];
    if (random() % 100 < 30 && other != own) costs.values[other].readers.push_back(atom);
    last[atom % net.width] = add_value(atom, signature);
  }
  for (uint32_t value : last) costs.values[value].is_output = true;
  return costs;
}

void measure(const Net& net, size_t atoms, bool is_first) {
  const PlacementCosts costs = make_problem(net, atoms);
  const auto start = std::chrono::steady_clock::now();
  const CheapestPlacement placed = place_by_cost(costs);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  int64_t single = never;
  for (uint32_t t = 0; t < net.targets; ++t)
    single = std::min(single, cost_of(costs, std::vector<uint32_t>(atoms, t)).total());
  std::printf(
      "%s\n  {\"net\": \"%s\", \"atoms\": %zu, \"seconds\": %.3f, \"milliseconds\": %.1f, \"nodes\": %.1f, "
      "\"copies\": %.1f, \"launches\": %.1f, \"on_one_target\": %.1f}",
      is_first ? "" : ",", net.name, atoms, seconds, static_cast<double>(placed.cost.total()) / 1e6,
      static_cast<double>(placed.cost.nodes) / 1e6, static_cast<double>(placed.cost.copies) / 1e6,
      static_cast<double>(placed.cost.launches) / 1e6, static_cast<double>(single) / 1e6);
  std::fflush(stdout);
}

}  // namespace
}  // namespace intarsia

int main(int count, char** arguments) {
  std::vector<size_t> sizes;
  for (int i = 1; i < count; ++i) sizes.push_back(static_cast<size_t>(std::atoll(arguments[i])));
  if (sizes.empty()) sizes = {1'000, 10'000, 100'000};
  std::printf("{\"results\": [");
  bool is_first = true;
  for (size_t atoms : sizes) {
    for (const intarsia::Net& net : intarsia::nets) {
      intarsia::measure(net, atoms, is_first);
      is_first = false;
    }
  }
  std::printf("\n]}\n");
}
