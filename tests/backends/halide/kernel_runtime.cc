// What a kernel's user context points to, when several workers use it at once.
//
// Covers: backends/halide/runtime/ kernel_runtime.cc
#include "backends/halide/runtime/kernel_runtime.h"

#include <gtest/gtest.h>

#include <string_view>

namespace intarsia::halide {
namespace {

TEST(HalideKernelRuntime, OneOfTheWorkersThatFailAtOnceReports) {
  ThreadPool threads(4);
  const HalideTask fail_each = [](void* context, int index, uint8_t*) {
    auto* table = static_cast<HalideKernelRuntime*>(context);
    const std::string message(200, static_cast<char>('a' + index % 26));
    table->error(table, message.c_str());
    return -1 - index;
  };
  for (int run = 0; run < 50; ++run) {
    KernelRuntime runtime(&threads, nullptr, 0, 0);
    auto* table = static_cast<HalideKernelRuntime*>(runtime.table());
    EXPECT_NE(table->parallel_for(table, fail_each, 0, 64, nullptr), 0);
    const std::string_view said = runtime.message();
    ASSERT_EQ(said.size(), 200u);
    EXPECT_EQ(said.find_first_not_of(said[0]), std::string_view::npos) << said;
  }
}

}  // namespace
}  // namespace intarsia::halide
