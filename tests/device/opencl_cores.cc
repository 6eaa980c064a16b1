// OpenCL device whose cores are the processor's, pinned to some of them. PoCL's `pthread` device has threads,
// its `basic` device computes in the caller's. Skipped where there is none.
//
// Covers: src/device/opencl/ cores.cc executor.cc
// src/device/by_name/ devices.cc
#include <gtest/gtest.h>

#include <cstdlib>

#include "device/by_name/devices.h"
#include "tests/support/thread_cores.h"

namespace intarsia::test {
namespace {

const CoreSet first_core = CoreSet::parse("0").value(), second_core = CoreSet::parse("1").value();

class OpenclCores : public testing::Test {
 protected:
  void SetUp() override {
    if (!CoreSet::of_this_thread().contains(CoreSet::parse("0-1").value()))
      GTEST_SKIP() << "wants the CPUs 0 and 1";
  }

  /// Gives the machine these devices of PoCL; skips the test if PoCL is missing.
  static void use(const char* devices) {
    setenv("POCL_DEVICES", devices, 1);
    setenv("POCL_PTHREAD_MIN_THREADS", "2", 1);
    setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors/pocl.icd", 1);
    const std::vector<DeviceInfo> list = list_devices();
    for (const DeviceInfo& device : list) {
      if (device.name == "opencl:0" && device.description.starts_with("not available"))
        GTEST_SKIP() << device.description;
    }
  }

  static std::vector<CoreSet> cores_of_pool() { return cores_of_threads({"intarsia-pocl"}); }

  static std::string error_of(const char* name) {
    const auto device = make_device(name);
    return device ? "none" : device.error().message;
  }
};

TEST_F(OpenclCores, ItsThreadsAreHeldToThem) {
  ASSERT_NO_FATAL_FAILURE(use("pthread pthread"));
  if (IsSkipped()) return;
  ASSERT_GE(cores_of_pool().size(), 2u) << "they run anywhere before";
  EXPECT_NE(cores_of_pool()[0], second_core);
  const auto device = make_device("opencl:0?cores=1");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(*(*device)->cores(), second_core);
  for (const CoreSet& cores : cores_of_pool()) EXPECT_EQ(cores, second_core);
  EXPECT_EQ(error_of("opencl:1?cores=0"),
            "device 'opencl:1?cores=0': PoCL has one pool of threads in a process, which is pinned to the "
            "cores 1, and a region wants the cores 0; give all regions of PoCL the same cores, or run them "
            "in two processes");
  EXPECT_NE(error_of("opencl:1").find("pinned to the cores 1"), std::string::npos);
  EXPECT_EQ(error_of("opencl:1?cores=1"), "none") << "the same pool";
}

/// Executable that records its cores.
class TellsItsCores : public Executable {
 public:
  Status run(const RunContext&) const override {
    cores = CoreSet::of_this_thread();
    return {};
  }
  mutable CoreSet cores;
};

TEST_F(OpenclCores, WithoutThreadsItComputesInTheCallersOnThem) {
  ASSERT_NO_FATAL_FAILURE(use("basic basic"));
  if (IsSkipped()) return;
  EXPECT_TRUE(cores_of_pool().empty());
  const CoreSet before = CoreSet::of_this_thread();
  const TellsItsCores told;
  for (const CoreSet& cores : {first_core, second_core}) {
    const auto device = make_device("opencl:0?cores=" + cores.text());
    ASSERT_TRUE(device) << device.error().message;
    ASSERT_TRUE((*device)->run(told, {}));
    EXPECT_EQ(told.cores, cores);
  }
  EXPECT_EQ(CoreSet::of_this_thread(), before);
}

}  // namespace
}  // namespace intarsia::test
