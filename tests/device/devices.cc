// The simulated device: its name, its speed, its counts.
//
// Covers: src/device/ cpu_device.cc device.cc devices.cc sim_device.cc
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <functional>

#include "device/devices.h"
#include "device/sim_device.h"

namespace intarsia::test {
namespace {

double seconds(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Busy : public Executable {
 public:
  Status run(const RunContext&) const override {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    while (std::chrono::steady_clock::now() < until) {
    }
    return {};
  }
};

TEST(Devices, SettingsAndTheirErrors) {
  EXPECT_EQ(*parse_sim_settings(""), SimSettings{});
  EXPECT_EQ(*parse_sim_settings("slowdown=2&latency_us=7.5&gbps=0.5"), (SimSettings{2, 7.5, 0.5}));
  const auto error = [](const char* name) { return make_device(name).error().message; };
  EXPECT_NE(error("sim:0?speed=2").find("device 'sim:0?speed=2': unknown setting 'speed=2'"),
            std::string::npos);
  EXPECT_NE(error("sim:0?slowdown=0.5").find("want a number of at least 1"), std::string::npos);
  EXPECT_NE(error("sim:0?gbps=nan").find("gbps=nan"), std::string::npos);
  EXPECT_NE(error("sim:0?gbps=1x").find("gbps=1x"), std::string::npos);
  EXPECT_NE(error("sim:0?gbps").find("gbps"), std::string::npos);
  EXPECT_NE(error("sim:x").find("want sim:N"), std::string::npos);
  EXPECT_NE(error("tpu").find("no device 'tpu'"), std::string::npos);
}

TEST(Devices, OneNameIsOneDevice) {
  const auto a = make_device("sim:3"), b = make_device("sim:3"), c = make_device("sim:4");
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(*a, *b);
  EXPECT_NE(*a, *c);
  for (const DeviceInfo& info : list_devices()) EXPECT_TRUE(make_device(info.name)) << info.name;
}

/// A server may see as many names as it has requests.
TEST(Devices, NamesOfDevicesThatAreGoneAreForgotten) {
  const auto make_and_drop = [](int number) {
    EXPECT_TRUE(make_device(fmt::format("sim:6?latency_us={}", number)));
  };
  make_and_drop(1000);
  const size_t before = mallinfo2().uordblks;
  for (int i = 1001; i < 2000; ++i) make_and_drop(i);
  EXPECT_LT(mallinfo2().uordblks, before + 10'000);
}

TEST(Devices, CopiesTakeTheirTimeAndAreCounted) {
  const auto device = make_device("sim:5?latency_us=2000&gbps=1");
  ASSERT_TRUE(device);
  const size_t bytes = 3'000'000;  // 3 ms at 1 GB/s, and 2 ms of latency
  const auto buffer = (*device)->allocate(bytes);
  ASSERT_TRUE(buffer);
  std::vector<std::byte> host(bytes, std::byte{7}), back(bytes);
  EXPECT_GE(seconds([&] { EXPECT_TRUE((*device)->upload(buffer->data(), host.data(), bytes)); }), 0.005);
  EXPECT_TRUE((*device)->download(back.data(), buffer->data(), bytes));
  EXPECT_EQ(host, back);
  EXPECT_EQ((*device)->copy_counts(), (CopyCounts{1, bytes, 1, bytes}));
}

TEST(Devices, SlowdownStretchesRuns) {
  const auto device = make_device("sim:6?slowdown=4");
  ASSERT_TRUE(device);
  EXPECT_GE(seconds([&] { EXPECT_TRUE((*device)->run(Busy(), {})); }), 0.020);
}

TEST(Devices, CopyBetweenAnyTwo) {
  std::vector<std::byte> staging(4), host(4, std::byte{9}), back(4);
  auto cpu = *make_device("cpu"), a = *make_device("sim:8?latency_us=0"),
       b = *make_device("sim:9?latency_us=0");
  const Buffer on_a = *a->allocate(4), also_a = *a->allocate(4), on_b = *b->allocate(4);
  EXPECT_TRUE(copy_between(*cpu, host.data(), *a, on_a.data(), 4, staging));
  EXPECT_TRUE(copy_between(*a, on_a.data(), *a, also_a.data(), 4, staging));
  EXPECT_TRUE(copy_between(*a, also_a.data(), *b, on_b.data(), 4, staging));
  EXPECT_TRUE(copy_between(*b, on_b.data(), *cpu, back.data(), 4, staging));
  EXPECT_EQ(host, back);
  EXPECT_EQ(a->copy_counts(), (CopyCounts{1, 4, 1, 4}));
  EXPECT_EQ(b->copy_counts(), (CopyCounts{1, 4, 1, 4}));
}

}  // namespace
}  // namespace intarsia::test
