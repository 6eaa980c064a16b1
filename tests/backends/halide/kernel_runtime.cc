// User context of a kernel, when several workers use it at once.
//
// Covers: backends/halide/runtime/ kernel_runtime.cc
#include "backends/halide/runtime/kernel_runtime.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <thread>

#include "tests/support/test_team.h"

namespace intarsia::halide {
namespace {

TEST(HalideKernelRuntime, OneOfTheWorkersThatFailAtOnceReports) {
  intarsia::test::TestTeam threads(4);
  const HalideTask fail_each = [](void* context, int index, uint8_t*) {
    auto* table = static_cast<HalideKernelRuntime*>(context);
    const std::string message(200, static_cast<char>('a' + index % 26));
    table->error(table, message.c_str());
    return -1 - index;
  };
  for (int run = 0; run < 50; ++run) {
    KernelRuntime runtime(&threads, 0, {});
    auto* table = static_cast<HalideKernelRuntime*>(runtime.table());
    EXPECT_NE(table->parallel_for(table, fail_each, 0, 64, nullptr), 0);
    const std::string_view said = runtime.message();
    ASSERT_EQ(said.size(), 200u);
    EXPECT_EQ(said.find_first_not_of(said[0]), std::string_view::npos) << said;
  }
}

/// Checks that two seats have memory in the workspace, and two more in the memory that a session adds for
/// more threads.
TEST(HalideKernelRuntime, EverySeatAllocatesFromItsSlice) {
  constexpr size_t slice = 1024;
  alignas(64) static std::array<std::byte, 2 * slice> workspace, more;
  intarsia::test::TestTeam threads(4);
  KernelRuntime runtime(&threads, slice, {workspace.data(), 0, 2}, {more.data(), 2, 2});
  const HalideTask allocate = [](void* context, int, uint8_t*) {
    auto* table = static_cast<HalideKernelRuntime*>(context);
    const int seat = ParallelLoop::current_seat();
    std::byte* const begin = seat < 2 ? workspace.data() + seat * slice : more.data() + (seat - 2) * slice;
    auto* const first = static_cast<std::byte*>(table->allocate(table, 100));
    auto* const second = static_cast<std::byte*>(table->allocate(table, 100));
    const bool are_there = first >= begin && second > first && second + 100 <= begin + slice;
    table->release(table, first);
    table->release(table, second);
    std::this_thread::sleep_for(std::chrono::microseconds(50));  // lets other threads arrive
    return are_there ? 0 : 1;
  };
  auto* table = static_cast<HalideKernelRuntime*>(runtime.table());
  for (int run = 0; run < 20; ++run) EXPECT_EQ(table->parallel_for(table, allocate, 0, 64, nullptr), 0);
}

}  // namespace
}  // namespace intarsia::halide
