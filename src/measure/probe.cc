#include "measure/probe.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <random>
#include <vector>

namespace intarsia {
namespace {

constexpr int probe_rounds = 150;
constexpr uint32_t chain_steps = 32000;  // steps, which take twice as long as the walk
constexpr uint32_t lines = 4096;         // cache lines of 64 bytes: 256 KiB
/// Parts of the walk, each with its own fastest round: the whole walk is never undisturbed while a neighbor
/// uses the same cache.
constexpr uint32_t parts = 16;

struct alignas(64) Line {
  uint32_t next;
};

/// Makes one cycle through all lines, in an order that no prefetcher guesses.
std::vector<Line> make_cycle() {
  std::vector<uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, std::mt19937(1));
  std::vector<Line> cycle(lines);
  for (uint32_t i = 0; i < lines; ++i) cycle[order[i]].next = order[(i + 1) % lines];
  return cycle;
}

uint64_t calculate(uint64_t number) {
  for (uint32_t i = 0; i < chain_steps; ++i) number = number * 6364136223846793005u + 1442695040888963407u;
  return number;
}

uint32_t walk_part(const std::vector<Line>& cycle, uint32_t at) {
  for (uint32_t i = 0; i < lines / parts; ++i) at = cycle[at].next;
  return at;
}

/// Runs work(state), which gives the next state, and lowers `least` to the nanoseconds that it took.
template <typename State, typename Work>
void time_one(int64_t& least, State& state, Work work) {
  const auto begin = std::chrono::steady_clock::now();
  volatile State result = work(state);
  const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
  least = std::min(least, int64_t{time.count()});
  state = result;
}

}  // namespace

int64_t measure_probe() {
  uint64_t number = 1;
  int64_t chain = INT64_MAX;
  for (int round = 0; round < probe_rounds; ++round) time_one(chain, number, calculate);

  const std::vector<Line> cycle = make_cycle();
  uint32_t at = 0;
  std::array<int64_t, parts> walk;
  walk.fill(INT64_MAX);
  for (int round = 0; round < probe_rounds; ++round)
    for (int64_t& part : walk) time_one(part, at, [&](uint32_t from) { return walk_part(cycle, from); });
  return std::accumulate(walk.begin(), walk.end(), chain);
}

}  // namespace intarsia
