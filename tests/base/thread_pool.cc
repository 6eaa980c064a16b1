// Task loops: every task runs once, whichever workers arrive in time; teams share the workers of their cores.
//
// Covers: src/base/threads/ fork_count.cc parallel_loop.cc thread_pool.cc
#include "base/threads/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "tests/support/count_threads.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

struct Counts {
  std::array<std::atomic<int>, 64> of_task{};
  ThreadTeam* nested = nullptr;
};

int count(void* data, int task, int) {
  static_cast<Counts*>(data)->of_task[static_cast<size_t>(task)].fetch_add(1);
  return 0;
}

void run_loops(ThreadTeam& team, int loops) {
  for (int loop = 0; loop < loops; ++loop) {
    Counts counts;
    const int tasks = loop % 65;
    EXPECT_EQ(team.parallel_for(tasks, count, &counts), 0);
    for (int task = 0; task < 64; ++task)
      ASSERT_EQ(counts.of_task[static_cast<size_t>(task)], task < tasks ? 1 : 0);
  }
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 4}) {
    TestTeam team(threads);
    run_loops(team, 2000);
  }
}

TEST(ThreadPool, WakesWorkersThatSleep) {
  TestTeam team(3);
  for (int loop = 0; loop < 20; ++loop) {
    run_loops(team, 65);
    if (loop % 2 == 0) team.park();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ThreadPool, GivesAFailure) {
  TestTeam team(2);
  auto fail_at_seven = [](void*, int task, int) { return task == 7 ? 42 : 0; };
  EXPECT_EQ(team.parallel_for(64, fail_at_seven, nullptr), 42);
  EXPECT_EQ(team.parallel_for(7, fail_at_seven, nullptr), 0);
}

TEST(ThreadPool, NestedCallsRunSeriallyInTheirSeat) {
  TestTeam team(2);
  auto outer = [](void* data, int, int seat) {
    struct Inner {
      int seat;
      bool same = true;
    } inner{seat};
    auto check = [](void* to, int, int inner_seat) {
      static_cast<Inner*>(to)->same &= inner_seat == static_cast<Inner*>(to)->seat;
      return 0;
    };
    static_cast<ThreadTeam*>(data)->parallel_for(64, check, &inner);
    return inner.same ? 0 : 1;
  };
  EXPECT_EQ(team.parallel_for(50, outer, &static_cast<ThreadTeam&>(team)), 0);
}

/// Checks that loops of many callers mix in one pool, which has one worker fewer than threads.
TEST(ThreadPool, TeamsOfOneCoreSetShareItsWorkers) {
  const auto pool = std::make_shared<ThreadPool>(CoreSet::of_this_thread(), 4);
  std::thread([] {}).join();  // a sanitizer starts a thread of its own with the first one
  const int before = threads_of_this_process();
  std::vector<std::unique_ptr<ThreadTeam>> teams;
  for (int i = 0; i < 8; ++i) teams.push_back(std::make_unique<ThreadTeam>(pool, i % 4 + 1));
  EXPECT_EQ(pool->workers(), 3);
  EXPECT_EQ(threads_of_this_process(), before + 3);
  std::vector<std::thread> callers;
  for (const auto& team : teams) {
    callers.emplace_back([&] {
      for (int run = 0; run < 30; ++run) {
        const ThreadTeam::Busy busy(team.get());
        run_loops(*team, 65);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  teams.clear();
  for (int i = 0; i < 100; ++i) {  // other teams take the places of those that are gone
    ThreadTeam team(pool, 2 + i % 3);
    run_loops(team, 65);
  }
}

/// Runs loops until a worker has taken part in one. Returns whether one did within 10 s.
bool gets_help(ThreadTeam& team) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::atomic<bool> helped{false};
  const auto note_seat = [](void* data, int, int seat) {
    if (seat > 0) static_cast<std::atomic<bool>*>(data)->store(true);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return 0;
  };
  while (!helped && std::chrono::steady_clock::now() < end) team.parallel_for(8, note_seat, &helped);
  return helped;
}

TEST(ThreadPool, WorkersComeBackAfterCallersWereBusyAtTheSameTime) {
  const auto pool = std::make_shared<ThreadPool>(CoreSet::of_this_thread(), 2);
  ThreadTeam one(pool, 2), other(pool, 2);
  EXPECT_TRUE(gets_help(one));
  for (int round = 0; round < 3; ++round) {
    {
      const ThreadTeam::Busy first(&one);
      const ThreadTeam::Busy second(&other);
      Counts counts;
      EXPECT_EQ(one.parallel_for(64, count, &counts), 0);
      EXPECT_EQ(counts.of_task[63], 1);
    }
    EXPECT_TRUE(gets_help(other));
  }
}

TEST(ThreadPool, OneForACoreSet) {
  const CoreSet cores = CoreSet::of_this_thread();
  const std::shared_ptr<ThreadPool> pool = ThreadPool::of(cores);
  EXPECT_EQ(pool, ThreadPool::of(cores));
  EXPECT_EQ(pool->threads(), cores.size());
  EXPECT_EQ(ThreadTeam(pool, 1000).size(), cores.size());
  const CoreSet zero = CoreSet::parse(cores.text().substr(0, cores.text().find_first_of("-+"))).value();
  if (cores.size() > 1) {
    EXPECT_NE(pool, ThreadPool::of(zero));
  }
}

/// Checks a child of fork(), which has none of its parent's workers: its runs get new ones, and nothing hangs
/// at its end.
TEST(ThreadPool, WorksInAForkedChild) {
#ifdef THREAD_SANITIZER
  GTEST_SKIP() << "ThreadSanitizer has no threads in a forked child";
#endif
  const CoreSet cores = CoreSet::of_this_thread();
  if (cores.size() < 2) GTEST_SKIP() << "one core, no workers";
  ThreadTeam team(ThreadPool::of(cores), 2);
  run_loops(team, 65);
  const pid_t child = fork();
  if (child == 0) {
    run_loops(team, 1000);
    _exit(!testing::Test::HasFailure() && threads_of_this_process() == 2 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  run_loops(team, 65);
}

}  // namespace
}  // namespace intarsia::test
