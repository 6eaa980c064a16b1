// Thread team with workers of its own, if need be more than the machine has cores.
#pragma once

#include "base/threads/thread_pool.h"

namespace intarsia::test {

struct TestTeam : ThreadTeam {
  explicit TestTeam(int threads)
      : ThreadTeam(std::make_shared<ThreadPool>(CoreSet::of_this_thread(), threads), threads) {}
};

}  // namespace intarsia::test
