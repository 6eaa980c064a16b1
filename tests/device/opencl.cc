// OpenCL device: its memory, copies, launches, and the errors of each. Skipped where there is none.
//
// Covers: src/base/files/ cache_folder.cc
// src/device/opencl/ api.cc binaries.cc devices.cc executor.cc launcher.cc programs.cc space.cc
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/digest.h"
#include "device/by_name/devices.h"
#include "device/launcher.h"
#include "device/opencl/programs.h"
#include "tests/support/runtime_support.h"
#include "tests/support/test_folder.h"

namespace intarsia::test {
namespace {

class Opencl : public testing::Test {
 protected:
  void SetUp() override {
    const auto device = make_device("opencl:0");
    if (!device) GTEST_SKIP() << device.error().message;
    device_ = *device;
    space_ = device_->space();
  }

  Memory filled(const std::vector<float>& numbers) {
    const Memory memory = *space_->allocate(numbers.size() * sizeof(float));
    EXPECT_TRUE(space_->upload({memory.handle(), 0}, numbers.data(), memory.bytes()));
    return memory;
  }

  std::vector<float> read(const Memory& memory, size_t offset = 0) {
    std::vector<float> numbers((memory.bytes() - offset) / sizeof(float));
    EXPECT_TRUE(space_->download(numbers.data(), {memory.handle(), offset}, memory.bytes() - offset));
    return numbers;
  }

  std::shared_ptr<Executor> device_;
  std::shared_ptr<MemorySpace> space_;
};

TEST_F(Opencl, NamesAndTheirErrors) {
  EXPECT_EQ(device_->kind(), "opencl");
  EXPECT_EQ(*make_device("opencl:0"), device_);
  const auto error = [](const char* name) { return make_device(name).error().message; };
  EXPECT_NE(error("opencl:x").find("want opencl:N"), std::string::npos);
  EXPECT_NE(error("opencl:4000").find("OpenCL devices: opencl:0 to"), std::string::npos);
  EXPECT_NE(error("opencl:0?fast=1").find("one setting, as in opencl:0?cores=0-1"), std::string::npos);
  EXPECT_NE(error("opencl:0?cores=").find("device 'opencl:0?cores='"), std::string::npos);
  EXPECT_NE(error("opencl:0?cores=1023").find("this process may use the CPUs"), std::string::npos);
}

TEST_F(Opencl, MemoryIsZeroAndCopiesAreCounted) {
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

TEST_F(Opencl, MovesWithinItsMemory) {
  const Memory a = filled({1, 2, 3, 4, 5, 6, 7, 8}), b = *space_->allocate(32);
  EXPECT_TRUE(space_->move({b.handle(), 4}, {a.handle(), 8}, 12));
  EXPECT_EQ(read(b), (std::vector<float>{0, 3, 4, 5, 0, 0, 0, 0}));
  EXPECT_TRUE(space_->move({a.handle(), 4}, {a.handle(), 0}, 24));  // onto itself
  EXPECT_EQ(read(a), (std::vector<float>{1, 1, 2, 3, 4, 5, 6, 8}));
}

TEST_F(Opencl, StagingIsMemoryOfTheHost) {
  const auto staging = space_->allocate_staging(4096);
  ASSERT_TRUE(staging) << staging.error().message;
  std::memset(staging->get(), 5, 4096);
  const Memory memory = *space_->allocate(4096);
  EXPECT_TRUE(space_->upload({memory.handle(), 0}, staging->get(), 4096));
  std::vector<std::byte> back(4096);
  EXPECT_TRUE(space_->download(back.data(), {memory.handle(), 0}, 4096));
  EXPECT_EQ(back, std::vector<std::byte>(4096, std::byte{5}));
}

TEST_F(Opencl, MoreMemoryThanThereIsIsAnError) {
  const auto memory = space_->allocate(size_t{1} << 50);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().kind, ErrorKind::out_of_memory);
  EXPECT_TRUE(memory.error().message.starts_with("cannot allocate 1024.0 TB on opencl:0 ("))
      << memory.error().message;
}

constexpr std::string_view program = R"(
__kernel void add(float number, __global const float* x, __global float* y, __local int* unused) {
  size_t i = get_global_id(0);
  y[i] = x[i] + number;
})";

/// Executable that calls a launch.
class Launching : public Executable {
 public:
  explicit Launching(std::function<Status(Launcher&)> work) : work_(std::move(work)) {}
  Status run(const RunContext& context) const override {
    return context.launcher != nullptr ? work_(*context.launcher) : fail("no launcher");
  }

 private:
  std::function<Status(Launcher&)> work_;
};

TEST_F(Opencl, LaunchesInOrder) {
  const Memory x = filled({1, 2, 3, 4}), y = *space_->allocate(16);
  const auto work = [&](Launcher& launcher) -> Status {
    for (const auto& [from, to, number] : {std::tuple(&x, &y, 1.0f), std::tuple(&y, &x, 10.0f)}) {
      const std::array<LaunchArgument, 3> arguments{
          {{&number, sizeof(number)}, {from->handle(), 0}, {to->handle(), 0}}};
      TRY(launcher.launch({.program = program,
                           .entry = "add",
                           .groups = {2, 1, 1},
                           .group_items = {2, 1, 1},
                           .arguments = arguments}));
    }
    return {};
  };
  const auto executable = device_->adapt(std::make_unique<Launching>(work), {});
  ASSERT_TRUE(executable);
  for (int run = 1; run <= 2; ++run) {
    const Status status = device_->run(**executable, {});
    ASSERT_TRUE(status) << status.error().message;
  }
  EXPECT_EQ(read(y), (std::vector<float>{13, 14, 15, 16}));
  EXPECT_EQ(read(x), (std::vector<float>{23, 24, 25, 26}));
}

TEST_F(Opencl, ErrorsOfLaunchesAreTold) {
  const Memory x = filled({1, 2, 3, 4});
  const auto error_of = [&](const Launch& launch) {
    const auto executable = device_->adapt(
        std::make_unique<Launching>([&](Launcher& launcher) { return launcher.launch(launch); }), {});
    const Status status = device_->run(**executable, {});
    return status ? std::string() : status.error().message;
  };
  const std::string log = error_of({.program = "__kernel void f( {", .entry = "f"});
  EXPECT_NE(log.find("does not build a kernel: CL_BUILD_PROGRAM_FAILURE (-11); "), std::string::npos) << log;
  EXPECT_NE(log.find("error:"), std::string::npos) << "the driver's own words: " << log;
  EXPECT_NE(error_of({.program = program, .entry = "subtract"}).find("CL_INVALID_KERNEL_NAME"),
            std::string::npos);
  EXPECT_NE(error_of({.program = program, .entry = "add"}).find("clSetKernelArg"), std::string::npos);
}

constexpr std::string_view long_program = R"(
__kernel void spin(__global float* x, int rounds, __local int* unused) {
  float number = x[0];
  for (int i = 0; i < rounds; ++i) number = number * 0.5f + 1.0f;
  x[0] = number;
})";

/// Checks copies beside a kernel in one work item, which takes long enough for many copies.
TEST_F(Opencl, CopiesRunBesideKernelsInATrace) {
  const OpenclDevice& opencl = opencl_devices()->front();
  cl_uint units = 0;
  opencl.api->clGetDeviceInfo(opencl.id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, nullptr);
  if (units < 2) GTEST_SKIP() << "the device does one thing at a time";
  const Memory x = filled({1}), target = *space_->allocate(1 << 20);
  const int rounds = 100'000'000;
  TimeSpan kernel;
  const auto work = [&](Launcher& launcher) -> Status {
    const std::array<LaunchArgument, 2> arguments{{{x.handle(), 0}, {&rounds, sizeof(rounds)}}};
    TRY(launcher.launch({.program = long_program, .entry = "spin", .arguments = arguments}));
    kernel = TRY(launcher.wait_timed());
    return {};
  };
  const auto executable = device_->adapt(std::make_unique<Launching>(work), {});
  ASSERT_TRUE(executable);
  const TraceHook trace = [](std::string_view, int64_t, int64_t) {};
  const int64_t begin = clock_nanoseconds();
  std::atomic<bool> is_done = false;
  Status status;
  std::thread beside([&] {
    status = device_->run(**executable, {.trace = &trace});
    is_done = true;
  });
  std::vector<TimeSpan> copies;
  const std::vector<std::byte> bytes(1 << 20);
  while (!is_done) {
    TimeSpan ran;
    const int64_t begun = clock_nanoseconds();
    EXPECT_TRUE(space_->upload({target.handle(), 0}, bytes.data(), bytes.size(), &ran));
    EXPECT_LE(begun, ran.begin_ns);
    EXPECT_LT(ran.begin_ns, ran.end_ns) << "its own times";
    EXPECT_LE(ran.end_ns, clock_nanoseconds() + 1'000'000);
    copies.push_back(ran);
  }
  beside.join();
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_LE(begin, kernel.begin_ns);
  EXPECT_LT(kernel.begin_ns, kernel.end_ns);
  EXPECT_LE(kernel.end_ns, clock_nanoseconds() + 1'000'000) << "1 ms for what lies between the two clocks";
  EXPECT_TRUE(std::ranges::any_of(
      copies,
      [&](const TimeSpan& copy) { return kernel.begin_ns < copy.begin_ns && copy.end_ns < kernel.end_ns; }))
      << copies.size() << " copies";
}

/// Checks that a device refuses a kernel before the first run.
TEST_F(Opencl, KernelsAreMadeBeforeTheFirstRun) {
  class Prepared : public Launching {
   public:
    explicit Prepared(std::string_view text) : Launching([](Launcher&) { return Status(); }), text_(text) {}
    Status prepare(Launcher& launcher) const override {
      return launcher.launch({.program = text_, .entry = "add"});
    }

   private:
    std::string_view text_;
  };
  EXPECT_TRUE(device_->adapt(std::make_unique<Prepared>(program), {}));
  const auto refused = device_->adapt(std::make_unique<Prepared>("__kernel void add( {"), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
}

/// Checks that a program is built from its text once, and that damaged binaries and those of another driver
/// are not used.
TEST_F(Opencl, ProgramsAreKeptInFiles) {
  const TestFolder folder;
  setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  const OpenclDevice& opencl = opencl_devices()->front();
  const std::string_view texts[] = {"__kernel void first(__local int* unused) {}",
                                    "__kernel void second(__local int* unused) {}"};
  const OpenclBinaries binaries(opencl,
                                opencl.divides_correctly ? "-cl-fp32-correctly-rounded-divide-sqrt" : "");
  const auto has = [&](std::string_view text, const char* entry) {
    OpenclPrograms programs(opencl);  // as in a new process
    const auto built = programs.build(text);
    EXPECT_TRUE(built) << built.error().message;
    cl_int code = CL_SUCCESS;
    cl_kernel kernel = opencl.api->clCreateKernel(*built, entry, &code);
    if (kernel != nullptr) opencl.api->clReleaseKernel(kernel);
    return code == CL_SUCCESS;
  };
  EXPECT_TRUE(has(texts[0], "first"));
  EXPECT_TRUE(has(texts[1], "second"));
  const std::string first = binaries.path(content_digest(texts[0])),
                    second = binaries.path(content_digest(texts[1]));
  ASSERT_TRUE(std::filesystem::exists(first) && std::filesystem::exists(second));
  std::filesystem::copy_file(first, second, std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(has(texts[1], "first"));  // proves that the file is used
  std::filesystem::resize_file(second, std::filesystem::file_size(second) - 1);
  EXPECT_TRUE(has(texts[1], "second"));
  EXPECT_TRUE(has(texts[1], "second"));
}

/// Checks a forked child: it lacks the driver's threads, so a call would wait forever.
TEST_F(Opencl, AForkedChildIsToldThatItCannotUseIt) {
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
