#include "measure/cpu_contention.h"

#include <array>
#include <chrono>

namespace intarsia {
namespace {

/// Multiplies for about 40 microseconds, independently enough to keep a core's only multiplier busy, which
/// its hyperthreads share.
int multiply(void*, int task, int) {
  std::array<uint64_t, 6> chains{};
  chains[0] = static_cast<uint64_t>(task);
  for (int i = 0; i < 24000; ++i)
    for (uint64_t& chain : chains) chain = chain * 6364136223846793005u + 1442695040888963407u;
  volatile uint64_t sink = chains[0] ^ chains[1] ^ chains[2] ^ chains[3] ^ chains[4] ^ chains[5];
  static_cast<void>(sink);
  return 0;
}

std::chrono::nanoseconds time_of(ThreadTeam& team, int tasks) {
  const auto begin = std::chrono::steady_clock::now();
  team.parallel_for(tasks, multiply, nullptr);
  return std::chrono::steady_clock::now() - begin;
}

}  // namespace

bool has_free_cores(ThreadTeam& team) {
  if (team.size() < 2) return true;
  constexpr int attempts = 8;  // the workers may have to wake up first
  for (int i = 0; i < attempts; ++i)
    if (2 * time_of(team, team.size()) < 3 * time_of(team, 1)) return true;
  return false;
}

}  // namespace intarsia
