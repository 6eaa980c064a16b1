// Every task runs once, whichever workers come in time.
//
// Covers: src/base/ thread_pool.cc
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <array>

namespace intarsia {
namespace {

struct Counts {
  std::array<std::atomic<int>, 64> of_task{};
  ThreadPool* nested = nullptr;
};

int count(void* data, int task, int) {
  static_cast<Counts*>(data)->of_task[static_cast<size_t>(task)].fetch_add(1);
  return 0;
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int job = 0; job < 2000; ++job) {
      Counts counts;
      const int tasks = job % 65;
      EXPECT_EQ(pool.parallel_for(tasks, count, &counts), 0);
      for (int task = 0; task < 64; ++task)
        ASSERT_EQ(counts.of_task[static_cast<size_t>(task)], task < tasks ? 1 : 0);
    }
  }
}

TEST(ThreadPool, WakesWorkersThatSleep) {
  ThreadPool pool(3);
  for (int job = 0; job < 20; ++job) {
    Counts counts;
    pool.parallel_for(64, count, &counts);
    for (const std::atomic<int>& times : counts.of_task) EXPECT_EQ(times, 1);
    if (job % 2 == 0) pool.park();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(ThreadPool, GivesAFailure) {
  ThreadPool pool(2);
  auto fail_at_seven = [](void*, int task, int) { return task == 7 ? 42 : 0; };
  EXPECT_EQ(pool.parallel_for(64, fail_at_seven, nullptr), 42);
  EXPECT_EQ(pool.parallel_for(7, fail_at_seven, nullptr), 0);
}

TEST(ThreadPool, NestedCallsRunSerially) {
  ThreadPool pool(2);
  Counts counts;
  counts.nested = &pool;
  auto outer = [](void* data, int, int) {
    return static_cast<Counts*>(data)->nested->parallel_for(64, count, data);
  };
  EXPECT_EQ(pool.parallel_for(5, outer, &counts), 0);
  for (const std::atomic<int>& times : counts.of_task) EXPECT_EQ(times, 5);
}

}  // namespace
}  // namespace intarsia
