// Core set of a library in a process, and threads bound by their names.
//
// Covers: src/base/threads/ pool_cores.cc
#include "base/threads/pool_cores.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

namespace intarsia {
namespace {

const CoreSet first_core = CoreSet::parse("0").value(), second_core = CoreSet::parse("1").value();

TEST(PoolCores, TheFirstSetStays) {
  EXPECT_TRUE(pin_pool("One", &first_core));
  EXPECT_TRUE(pin_pool("One", &first_core));
  EXPECT_TRUE(pin_pool("Another", nullptr));
  EXPECT_EQ(pin_pool("One", &second_core).error().message,
            "One has one pool of threads in a process, which is pinned to the cores 0, and a region wants "
            "the cores "
            "1; give all regions of One the same cores, or run them in two processes");
  EXPECT_FALSE(pin_pool("One", nullptr));
  EXPECT_FALSE(pin_pool("Another", &first_core));
}

TEST(PoolCores, AnErrorNamesWhoHoldsThePoolAndWhoWantsIt) {
  EXPECT_TRUE(pin_pool("Named", &first_core));
  {
    const NamesPoolUser user("stage 'a'");
    EXPECT_TRUE(pin_pool("Named", &first_core));
  }
  const auto error = [] { return pin_pool("Named", &second_core).error().message; };
  EXPECT_NE(error().find("pinned to the cores 0 for stage 'a', and a region wants the cores 1"),
            std::string::npos)
      << error();
  const NamesPoolUser user("stage 'b'");
  EXPECT_NE(error().find("and stage 'b' wants the cores 1"), std::string::npos) << error();
}

/// Thread that waits until it is asked for its cores, and then returns them.
struct WaitingThread {
  std::atomic<bool> go = false;
  CoreSet cores;
  std::thread thread{[this] {
    go.wait(false);
    cores = CoreSet::of_this_thread();
  }};

  CoreSet ask() {
    go = true;
    go.notify_one();
    thread.join();
    return cores;
  }
};

TEST(PoolCores, OnlyThreadsMadeMeanwhileAreBound) {
  const CoreSet all = CoreSet::of_this_thread();
  if (!all.contains(CoreSet::parse("0-1").value())) GTEST_SKIP() << "wants the CPUs 0 and 1";
  const auto is_pool = [](std::string_view name) { return name == "some pool"; };
  WaitingThread before;
  std::optional<WaitingThread> during;
  {
    const NamesNewThreads outer("some pool"), inner("some pool");
    during.emplace();
    bind_threads(is_pool, first_core);
  }
  WaitingThread after;
  bind_threads(is_pool, first_core);
  EXPECT_GE(count_threads(), 4);
  EXPECT_EQ(before.ask(), all);
  EXPECT_EQ(during->ask(), first_core);
  EXPECT_EQ(after.ask(), all);
  EXPECT_EQ(CoreSet::of_this_thread(), all);
}

}  // namespace
}  // namespace intarsia
