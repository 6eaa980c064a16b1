// OpenCL device that several threads use at once. This is hard for PoCL's `basic` device: it runs a command
// in the thread that enqueues it, and waits for no other. Skipped where there is none.
//
// Covers: src/device/opencl/ queues.cc space.cc executor.cc
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "device/by_name/devices.h"
#include "device/launcher.h"
#include "device/opencl/queues.h"

namespace intarsia::test {
namespace {

constexpr size_t thread_count = 4;

class OpenclThreads : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("POCL_DEVICES", "basic", 1);
    setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors/pocl.icd", 1);
  }

  void SetUp() override {
    const auto device = make_device("opencl:0");
    if (!device) GTEST_SKIP() << device.error().message;
    device_ = *device;
  }

  /// Runs `work(thread)` in each of the threads at once.
  template <typename Work>
  static void in_threads(const Work& work) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < thread_count; ++i) threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  }

  std::shared_ptr<Executor> device_;
};

TEST_F(OpenclThreads, CopiesAreDoneWhenTheyReturn) {
  constexpr size_t count = 40'000, rounds = 500;
  MemorySpace& space = *device_->space();
  const Memory memory = *space.allocate(thread_count * count * sizeof(float));
  std::atomic<size_t> wrong = 0;
  in_threads([&](size_t thread) {
    const Place range{memory.handle(), thread * count * sizeof(float)};
    for (size_t round = 0; round < rounds; ++round) {
      const std::vector<float> sent(count, static_cast<float>(thread * rounds + round));
      std::vector<float> received(count, -1);
      const bool is_copied = space.upload(range, sent.data(), count * sizeof(float)) &&
                             space.download(received.data(), range, count * sizeof(float));
      if (!is_copied || received != sent) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0u) << "of " << thread_count * rounds;
}

constexpr std::string_view increases_often = R"(
__kernel void increase(__global float* x, __local int* unused) {
  for (int i = 0; i < 1000; ++i) x[get_global_id(0)] += 1.0f;
})";

/// Executable of two launches, the second of which needs the first.
class TwoLaunches : public Executable {
 public:
  Status run(const RunContext& context) const override {
    const std::array<LaunchArgument, 1> arguments{{{context.workspace_place.memory, 0}}};
    for (int i = 0; i < 2; ++i)
      TRY(context.launcher->launch(
          {.program = increases_often, .entry = "increase", .arguments = arguments}));
    return {};
  }
};

TEST_F(OpenclThreads, KernelsAreDoneWhenARunReturns) {
  constexpr size_t rounds = 500;
  MemorySpace& space = *device_->space();
  const auto executable = device_->adapt(std::make_unique<TwoLaunches>(), {});
  ASSERT_TRUE(executable);
  std::atomic<size_t> wrong = 0;
  in_threads([&](size_t) {
    const Memory memory = *space.allocate(sizeof(float));
    const Place place{memory.handle(), 0};
    for (size_t round = 1; round <= rounds; ++round) {
      float number = 0;
      const bool has_run = device_->run(**executable, {.workspace_place = place}) &&
                           space.download(&number, place, sizeof(number));
      if (!has_run || number != static_cast<float>(2000 * round)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0u) << "of " << thread_count * rounds;
}

TEST_F(OpenclThreads, AQueueIsLentToOneAtATime) {
  OpenclQueues queues(opencl_devices()->front());
  cl_command_queue first = nullptr;
  {
    const OpenclQueues::Lent one = *queues.lend(), another = *queues.lend();
    EXPECT_NE(one.get(), another.get());
    first = one.get();
  }
  const OpenclQueues::Lent again = *queues.lend(), timed = *queues.lend(true);
  EXPECT_EQ(again.get(), first) << "the last that was given back";
  EXPECT_NE(timed.get(), first);
}

}  // namespace
}  // namespace intarsia::test
