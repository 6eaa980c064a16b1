// CUDA device: its memory, copies, launches, threads, and the errors of each. Skipped where there is none.
//
// Covers: src/device/cuda/ api.cc devices.cc executor.cc programs.cc space.cc
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "device/by_name/devices.h"
#include "device/launcher.h"

namespace intarsia::test {
namespace {

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    const auto device = make_device("cuda:0");
    if (!device) GTEST_SKIP() << device.error().message;
    device_ = *device;
    space_ = device_->space();
  }

  Memory filled(const std::vector<float>& numbers) {
    const Memory memory = *space_->allocate(numbers.size() * sizeof(float));
    EXPECT_TRUE(space_->upload({memory.handle(), 0}, numbers.data(), memory.bytes()));
    return memory;
  }

  std::vector<float> read(const Memory& memory) {
    std::vector<float> numbers(memory.bytes() / sizeof(float));
    EXPECT_TRUE(space_->download(numbers.data(), {memory.handle(), 0}, memory.bytes()));
    return numbers;
  }

  std::shared_ptr<Executor> device_;
  std::shared_ptr<MemorySpace> space_;
};

TEST_F(Cuda, NamesAndTheirErrors) {
  EXPECT_EQ(device_->kind(), "cuda");
  EXPECT_EQ(*make_device("cuda:0"), device_);
  const auto error = [](const char* name) { return make_device(name).error().message; };
  EXPECT_NE(error("cuda:x").find("want cuda:N"), std::string::npos);
  EXPECT_NE(error("cuda:4000").find("CUDA devices: cuda:0 to"), std::string::npos);
  EXPECT_NE(error("cuda:0?fast=1").find("has no settings"), std::string::npos);
}

TEST_F(Cuda, MemoryIsZeroAndCopiesAreCounted) {
  const CopyCounts before = space_->copy_counts();
  const Memory memory = *space_->allocate(100);
  std::array<std::byte, 100> bytes{}, zeros{};
  bytes.fill(std::byte{1});
  EXPECT_EQ(space_->address({memory.handle(), 0}), nullptr);
  EXPECT_TRUE(space_->download(bytes.data(), {memory.handle(), 0}, 100));
  EXPECT_EQ(bytes, zeros);
  EXPECT_TRUE(space_->upload({memory.handle(), 7}, "abcdef", 6));
  EXPECT_TRUE(space_->upload({memory.handle(), 7}, "", 0));
  EXPECT_TRUE(space_->download(bytes.data(), {memory.handle(), 9}, 4));
  EXPECT_EQ(std::memcmp(bytes.data(), "cdef", 4), 0);
  const CopyCounts after = space_->copy_counts();
  EXPECT_EQ(after.uploads - before.uploads, 2u);
  EXPECT_EQ(after.uploaded_bytes - before.uploaded_bytes, 6u);
  EXPECT_EQ(after.downloads - before.downloads, 2u);
  EXPECT_EQ(after.downloaded_bytes - before.downloaded_bytes, 104u);
}

TEST_F(Cuda, MovesWithinItsMemory) {
  const Memory a = filled({1, 2, 3, 4, 5, 6, 7, 8}), b = *space_->allocate(32);
  EXPECT_TRUE(space_->move({b.handle(), 4}, {a.handle(), 8}, 12));
  EXPECT_EQ(read(b), (std::vector<float>{0, 3, 4, 5, 0, 0, 0, 0}));
  EXPECT_TRUE(space_->move({a.handle(), 4}, {a.handle(), 0}, 24));  // onto itself
  EXPECT_EQ(read(a), (std::vector<float>{1, 1, 2, 3, 4, 5, 6, 8}));
}

TEST_F(Cuda, CopiesFromItsOwnKindDirectly) {
  const Memory a = filled({1, 2, 3, 4}), b = *space_->allocate(16);
  ASSERT_TRUE(space_->can_copy_from(*space_));
  const Status copied = space_->copy_from(*space_, {b.handle(), 4}, {a.handle(), 0}, 12);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(read(b), (std::vector<float>{0, 1, 2, 3}));
}

TEST_F(Cuda, StagingIsMemoryOfTheHost) {
  const auto staging = space_->allocate_staging(4096);
  ASSERT_TRUE(staging) << staging.error().message;
  std::memset(staging->get(), 5, 4096);
  const Memory memory = *space_->allocate(4096);
  EXPECT_TRUE(space_->upload({memory.handle(), 0}, staging->get(), 4096));
  std::vector<std::byte> back(4096);
  EXPECT_TRUE(space_->download(back.data(), {memory.handle(), 0}, 4096));
  EXPECT_EQ(back, std::vector<std::byte>(4096, std::byte{5}));
}

TEST_F(Cuda, MoreMemoryThanThereIsIsAnError) {
  for (const size_t bytes : {size_t{1} << 44, size_t{1} << 50}) {
    const auto memory = space_->allocate(bytes);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().kind, ErrorKind::out_of_memory);
    EXPECT_NE(memory.error().message.find(" bytes free): bind another device or pass --memory"),
              std::string::npos)
        << memory.error().message;
  }
  EXPECT_TRUE(space_->allocate(1 << 20)) << "after a refusal";
}

// Kernels: y[i] = x[i] + number; so many rounds of x[0] = x[0] / 2 + 1, by one work item; a store to an
// address.
constexpr std::string_view ptx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry add(.param .f32 number, .param .u64 x, .param .u64 y) {
  .reg .f32 %f<4>;
  .reg .b32 %r<5>;
  .reg .b64 %d<6>;
  ld.param.f32 %f1, [number];
  ld.param.u64 %d1, [x];
  ld.param.u64 %d2, [y];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %d3, %r4, 4;
  add.s64 %d4, %d1, %d3;
  add.s64 %d5, %d2, %d3;
  ld.global.f32 %f2, [%d4];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%d5], %f3;
  ret;
}
.visible .entry spin(.param .u64 x, .param .s32 rounds) {
  .reg .f32 %f<2>;
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  .reg .pred %p<2>;
  ld.param.u64 %d1, [x];
  ld.param.s32 %r1, [rounds];
  ld.global.f32 %f1, [%d1];
again:
  fma.rn.f32 %f1, %f1, 0f3F000000, 0f3F800000;
  sub.s32 %r1, %r1, 1;
  setp.gt.s32 %p1, %r1, 0;
  @%p1 bra again;
  st.global.f32 [%d1], %f1;
  ret;
}
.visible .entry store(.param .u64 address) {
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [address];
  mov.u32 %r1, 1;
  st.global.u32 [%d1], %r1;
  ret;
}
)";

/// Executable that calls a launch.
class CudaLaunching : public Executable {
 public:
  explicit CudaLaunching(std::function<Status(Launcher&)> work) : work_(std::move(work)) {}
  Status run(const RunContext& context) const override {
    return context.launcher != nullptr ? work_(*context.launcher) : fail("no launcher");
  }

 private:
  std::function<Status(Launcher&)> work_;
};

TEST_F(Cuda, LaunchesInOrder) {
  const Memory x = filled({1, 2, 3, 4}), y = *space_->allocate(16);
  const auto work = [&](Launcher& launcher) -> Status {
    for (const auto& [from, to, number] : {std::tuple(&x, &y, 1.0f), std::tuple(&y, &x, 10.0f)}) {
      const std::array<LaunchArgument, 3> arguments{
          {{&number, sizeof(number)}, {from->handle(), 0}, {to->handle(), 0}}};
      TRY(launcher.launch({.program = ptx,
                           .entry = "add",
                           .groups = {2, 1, 1},
                           .group_items = {2, 1, 1},
                           .arguments = arguments}));
    }
    return {};
  };
  const auto executable = device_->adapt(std::make_unique<CudaLaunching>(work), {});
  ASSERT_TRUE(executable);
  for (int run = 1; run <= 2; ++run) {
    const Status status = device_->run(**executable, {});
    ASSERT_TRUE(status) << status.error().message;
  }
  EXPECT_EQ(read(y), (std::vector<float>{13, 14, 15, 16}));
  EXPECT_EQ(read(x), (std::vector<float>{23, 24, 25, 26}));
}

TEST_F(Cuda, ErrorsOfLaunchesAreTold) {
  const auto error_of = [&](const Launch& launch) {
    const auto executable = device_->adapt(
        std::make_unique<CudaLaunching>([&](Launcher& launcher) { return launcher.launch(launch); }), {});
    const Status status = device_->run(**executable, {});
    return status ? Error{} : status.error();
  };
  const Error refused =
      error_of({.program = ".version 7.0\n.target sm_80\n.address_size 64\nnonsense\n", .entry = "f"});
  EXPECT_EQ(refused.kind, ErrorKind::unsupported);
  EXPECT_NE(refused.message.find("cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX (218)"),
            std::string::npos)
      << refused.message;
  EXPECT_NE(refused.message.find("ptxas"), std::string::npos)
      << "the driver's own words: " << refused.message;
  EXPECT_NE(error_of({.program = ptx, .entry = "subtract"}).message.find("CUDA_ERROR_NOT_FOUND (500)"),
            std::string::npos);
  const uint64_t nowhere = 0;
  const std::array<LaunchArgument, 1> arguments{{{&nowhere, sizeof(nowhere)}}};
  const Error too_many =
      error_of({.program = ptx, .entry = "store", .group_items = {2048, 1, 1}, .arguments = arguments});
  EXPECT_NE(too_many.message.find("cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE (1)"), std::string::npos)
      << too_many.message;
}

/// Checks in another process that a kernel's illegal access is told, as is every later call's error.
TEST_F(Cuda, AFailedKernelLosesTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fail_and_exit = [&] {
    const uint64_t nowhere = 64;
    const std::array<LaunchArgument, 1> arguments{{{&nowhere, sizeof(nowhere)}}};
    const auto work = [&](Launcher& launcher) {
      return launcher.launch({.program = ptx, .entry = "store", .arguments = arguments});
    };
    const auto executable = device_->adapt(std::make_unique<CudaLaunching>(work), {});
    const Status run = device_->run(**executable, {});
    const Result<Memory> later = space_->allocate(16);
    if (!run) std::fprintf(stderr, "%s\n", run.error().message.c_str());
    if (!later) std::fprintf(stderr, "%s\n", later.error().message.c_str());
    const bool are_lost = !run && run.error().kind == ErrorKind::device_lost && !later &&
                          later.error().kind == ErrorKind::device_lost;
    std::exit(are_lost ? 0 : 1);
  };
  EXPECT_EXIT(fail_and_exit(), testing::ExitedWithCode(0), "CUDA_ERROR_ILLEGAL_ADDRESS \\(700\\)");
}

/// Checks copies beside a kernel in one work item, which takes long enough for some copies.
TEST_F(Cuda, CopiesRunBesideKernels) {
  const Memory x = filled({1}), target = *space_->allocate(1 << 20);
  const int rounds = 100'000'000;
  const auto work = [&](Launcher& launcher) {
    const std::array<LaunchArgument, 2> arguments{{{x.handle(), 0}, {&rounds, sizeof(rounds)}}};
    return launcher.launch({.program = ptx, .entry = "spin", .arguments = arguments});
  };
  const auto executable = device_->adapt(std::make_unique<CudaLaunching>(work), {});
  ASSERT_TRUE(executable);
  std::atomic<bool> is_done = false;
  Status status;
  std::thread beside([&] {
    status = device_->run(**executable, {});
    is_done = true;
  });
  const std::vector<std::byte> bytes(1 << 20);
  int copies = 0;
  for (; !is_done; ++copies) EXPECT_TRUE(space_->upload({target.handle(), 0}, bytes.data(), bytes.size()));
  beside.join();
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_GT(copies, 3);
  EXPECT_EQ(read(x), std::vector<float>{2});
}

/// Checks that each thread finds its own launches done and its own copies, on a device that all share.
TEST_F(Cuda, ThreadsRunAndCopyAtOnce) {
  constexpr size_t thread_count = 4, rounds = 300, count = 1024;
  std::atomic<size_t> wrong = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      const Memory x = *space_->allocate(count * sizeof(float)), y = *space_->allocate(count * sizeof(float));
      float number = 0;
      const auto work = [&](Launcher& launcher) {
        const std::array<LaunchArgument, 3> arguments{
            {{&number, sizeof(number)}, {x.handle(), 0}, {y.handle(), 0}}};
        return launcher.launch({.program = ptx,
                                .entry = "add",
                                .groups = {count / 64, 1, 1},
                                .group_items = {64, 1, 1},
                                .arguments = arguments});
      };
      const auto executable = device_->adapt(std::make_unique<CudaLaunching>(work), {});
      for (size_t round = 0; round < rounds; ++round) {
        number = static_cast<float>(t);
        const std::vector<float> sent(count, static_cast<float>(round)),
            want(count, static_cast<float>(round + t));
        std::vector<float> received(count, -1);
        const bool has_run = space_->upload({x.handle(), 0}, sent.data(), x.bytes()) &&
                             device_->run(**executable, {}) &&
                             space_->download(received.data(), {y.handle(), 0}, y.bytes());
        if (!has_run || received != want) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u) << "of " << thread_count * rounds;
}

/// Checks that a device refuses a kernel before the first run.
TEST_F(Cuda, KernelsAreMadeBeforeTheFirstRun) {
  class PreparedPtx : public CudaLaunching {
   public:
    explicit PreparedPtx(std::string_view text)
        : CudaLaunching([](Launcher&) { return Status(); }), text_(text) {}
    Status prepare(Launcher& launcher) const override {
      return launcher.launch({.program = text_, .entry = "add"});
    }

   private:
    std::string_view text_;
  };
  EXPECT_TRUE(device_->adapt(std::make_unique<PreparedPtx>(ptx), {}));
  const auto refused = device_->adapt(std::make_unique<PreparedPtx>("nonsense"), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported) << refused.error().message;
}

/// Checks a forked child, in which the driver does not work.
TEST_F(Cuda, AForkedChildIsToldThatItCannotUseIt) {
  const Memory memory = filled({1, 2, 3});
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    float number = 0;
    const Status used[] = {space_->upload({memory.handle(), 0}, &number, sizeof(number)),
                           space_->download(&number, {memory.handle(), 0}, sizeof(number)),
                           space_->move({memory.handle(), 4}, {memory.handle(), 0}, sizeof(number)),
                           space_->allocate(4).map([](const Memory&) {})};
    const bool are_told = std::ranges::all_of(used, [](const Status& status) {
      return !status && status.error().message.find("called fork()") != std::string::npos;
    });
    _exit(are_told ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read(memory), (std::vector<float>{1, 2, 3}));
}

}  // namespace
}  // namespace intarsia::test
