// OpenCL device that fails: in the middle of a run, for lack of memory, and when it is gone. Its faults come
// from a layer between the loader and the drivers. Skipped where there is no device or the loader has no
// layers.
//
// Covers: src/device/opencl/ executor.cc space.cc devices.cc
#include "tests/support/opencl_faults.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "device/by_name/devices.h"
#include "device/launcher.h"

namespace intarsia::test {
namespace {

/// Memory of each of the machine's devices, as the layer reports it.
constexpr size_t memory_bytes = size_t{8} << 20;

class OpenclFaulty : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("OPENCL_LAYERS", OPENCL_FAULTS_LAYER, 1);
    setenv("OPENCL_FAULTS", ("memory_bytes=" + std::to_string(memory_bytes)).c_str(), 1);
  }

  void SetUp() override {
    const auto device = make_device("opencl:0");
    if (!device) GTEST_SKIP() << device.error().message;
    device_ = *device;
    void* layer = dlopen(OPENCL_FAULTS_LAYER, RTLD_NOW | RTLD_NOLOAD);
    if (layer == nullptr) GTEST_SKIP() << "the loader has no layers";
    faults_ = static_cast<OpenclFaults*>(dlsym(layer, "opencl_faults"));
  }

  void TearDown() override {
    if (faults_ != nullptr) *faults_ = {};
  }

  std::shared_ptr<Executor> device_;
  OpenclFaults* faults_ = nullptr;
};

constexpr std::string_view increases_once = R"(
__kernel void increase(__global float* x, __local int* unused) { x[get_global_id(0)] += 1.0f; })";

/// Executable of three launches, each of which adds 1 to a number.
class ThreeLaunches : public Executable {
 public:
  explicit ThreeLaunches(void* memory) : memory_(memory) {}
  Status run(const RunContext& context) const override {
    const std::array<LaunchArgument, 1> arguments{{{memory_, 0}}};
    for (int i = 0; i < 3; ++i)
      TRY(context.launcher->launch({.program = increases_once, .entry = "increase", .arguments = arguments}));
    return {};
  }

 private:
  void* memory_;
};

TEST_F(OpenclFaulty, ARunThatFailsSaysWhereAndTheNextOneWorks) {
  const Memory memory = *device_->space()->allocate(4);
  const auto executable = device_->adapt(std::make_unique<ThreeLaunches>(memory.handle()), {});
  ASSERT_TRUE(executable);
  const auto number = [&] {
    float number = 0;
    EXPECT_TRUE(device_->space()->download(&number, {memory.handle(), 0}, sizeof(number)));
    return number;
  };
  EXPECT_TRUE(device_->run(**executable, {}));
  EXPECT_EQ(number(), 3);
  *faults_ = {.launch_code = CL_OUT_OF_RESOURCES, .good_launches = 1};
  const Status refused = device_->run(**executable, {});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("device 'opencl:0' (")) << refused.error().message;
  EXPECT_NE(refused.error().message.find("clEnqueueNDRangeKernel failed: CL_OUT_OF_RESOURCES (-5)"),
            std::string::npos);
  EXPECT_EQ(number(), 4) << "what was launched is done when the run ends";
  *faults_ = {.kernel_code = CL_DEVICE_NOT_AVAILABLE};
  const Status lost = device_->run(**executable, {});
  *faults_ = {};
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::device_lost);
  EXPECT_NE(lost.error().message.find("a kernel failed: CL_DEVICE_NOT_AVAILABLE (-2)"), std::string::npos)
      << lost.error().message;
  EXPECT_TRUE(device_->run(**executable, {}));
  EXPECT_EQ(number(), 10);
}

TEST_F(OpenclFaulty, TooLittleMemoryIsToldInBytes) {
  MemorySpace& space = *device_->space();
  const auto error = [&](size_t bytes) {
    const auto memory = space.allocate(bytes);
    EXPECT_EQ(memory.error().kind, ErrorKind::out_of_memory);
    return memory.error().message;
  };
  {
    const auto half = space.allocate(memory_bytes / 2);
    ASSERT_TRUE(half) << half.error().message;
    EXPECT_EQ(error(size_t{5} << 20),
              "cannot allocate 5.0 MB on opencl:0 (4.0 MB free): bind another device or pass --memory");
  }
  EXPECT_EQ(error(size_t{12} << 20),
            "cannot allocate 12.0 MB on opencl:0 (8.0 MB free): bind another device or pass --memory");
  const auto all = space.allocate(memory_bytes);
  EXPECT_TRUE(all);
  EXPECT_TRUE(space.allocate_staging(memory_bytes)) << "of the host";
}

TEST_F(OpenclFaulty, ADeviceThatIsGoneIsLost) {
  device_.reset();
  faults_->queue_code = CL_DEVICE_NOT_AVAILABLE;
  const auto gone = make_device("opencl:0");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::device_lost);
  EXPECT_NE(gone.error().message.find("device 'opencl:0'"), std::string::npos);
  *faults_ = {};
  EXPECT_TRUE(make_device("opencl:0"));
}

}  // namespace
}  // namespace intarsia::test
