// Memory of outputs whose size a kernel counts: reused once nobody holds it, never while somebody does.
//
// Covers: backends/halide/runtime/ room_pool.cc
#include "backends/halide/runtime/room_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <thread>
#include <vector>

namespace intarsia::halide {
namespace {

TEST(HalideRoomPool, MemoryComesBackWithItsLastPointer) {
  const RoomPool pool(1);
  std::shared_ptr<void> room = pool.take(4096);
  const void* const first = room.get();
  const std::shared_ptr<void> other = pool.take(4096);
  EXPECT_NE(other.get(), first);
  const std::shared_ptr<void> copy = room;
  room.reset();
  EXPECT_NE(pool.take(4096).get(), first);
}

TEST(HalideRoomPool, UnusedMemoryServesWhatFitsIntoIt) {
  const RoomPool pool(1);
  const void* const first = pool.take(4096).get();
  EXPECT_EQ(pool.take(4096).get(), first);
  EXPECT_EQ(pool.take(64).get(), first);
  const std::shared_ptr<void> larger = pool.take(1 << 16);
  std::memset(larger.get(), 1, 1 << 16);
}

TEST(HalideRoomPool, KeepsTheLatestRoomsUpToItsLimit) {
  const RoomPool pool(1);
  std::shared_ptr<void> early = pool.take(4096), late = pool.take(4096);
  const void* const kept = late.get();
  early.reset();
  late.reset();
  EXPECT_EQ(pool.take(4096).get(), kept);
}

TEST(HalideRoomPool, MemoryOutlivesThePool) {
  std::optional<RoomPool> pool(1);
  const std::shared_ptr<void> room = pool->take(4096);
  pool.reset();
  std::memset(room.get(), 1, 4096);
}

TEST(HalideRoomPool, ThreadsTakeMemoryOfTheirOwn) {
  const RoomPool pool(2);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int run = 0; run < 1000; ++run) {
        const std::shared_ptr<void> room = pool.take(64);
        auto* const number = static_cast<int*>(room.get());
        *number = thread;
        std::this_thread::yield();
        ASSERT_EQ(*number, thread);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace intarsia::halide
