// Simulated device: its name, its speed, its counts.
//
// Covers: src/device/sim/ declared_times.cc executor.cc
// src/device/by_name/ devices.cc
// src/device/ memory_space.cc
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <functional>
#include <latch>
#include <mutex>
#include <thread>

#include "device/by_name/devices.h"
#include "device/sim/executor.h"
#include "tests/support/runtime_support.h"

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
  EXPECT_EQ(*read_sim_settings({}), SimSettings{});
  const DeviceSetting settings[] = {{"slowdown", "2"}, {"latency_us", "7.5"}, {"gbps", "0.5"}};
  EXPECT_EQ(*read_sim_settings(settings), (SimSettings{2, 7.5, 0.5}));
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
  for (const DeviceInfo& info : list_devices()) {
    const auto made = make_device(info.name);
    const std::string why = made ? "" : made.error().message;
    EXPECT_TRUE(made || why == fmt::format("device '{}': {}", info.name, info.why_not_automatic)) << why;
  }
}

/// Checks that names take no memory once their devices are gone: a server may see one per request.
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
  MemorySpace& space = *(*device)->space();
  const auto buffer = space.allocate(bytes);
  ASSERT_TRUE(buffer);
  const Place place{buffer->handle(), 0};
  std::vector<std::byte> host(bytes, std::byte{7}), back(bytes);
  EXPECT_GE(seconds([&] { EXPECT_TRUE(space.upload(place, host.data(), bytes)); }), 0.005);
  EXPECT_TRUE(space.download(back.data(), place, bytes));
  EXPECT_EQ(host, back);
  EXPECT_EQ(space.copy_counts(), (CopyCounts{1, bytes, 1, bytes}));
}

TEST(Devices, SlowdownStretchesRuns) {
  const auto device = make_device("sim:6?slowdown=4");
  ASSERT_TRUE(device);
  EXPECT_GE(seconds([&] { EXPECT_TRUE((*device)->run(Busy(), {})); }), 0.020);
}

/// Executable that computes for five milliseconds, and returns a sum that depends on the input.
class AddOne : public Executable {
 public:
  Status run(const RunContext& context) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    context.outputs[0].tensor.as<float>()[0] = context.inputs[0].tensor.as<float>()[0] + 1;
    return {};
  }
};

TEST(Devices, DeclaredTimesHoldWhateverComputingTakes) {
  const TestFolder folder;
  write_bytes(folder / "times.json", R"({"nodes": {"a": 900, "b": 100}, "regions": {"long": 30000}})");
  const auto device = make_device("sim:10?times=" + (folder / "times.json"));
  ASSERT_TRUE(device) << device.error().message;
  const std::string ab[] = {"a", "b"}, other[] = {"long", "x"}, unknown[] = {"a", "x"};
  const auto quick = (*device)->adapt(std::make_unique<AddOne>(), ab);
  const auto slow = (*device)->adapt(std::make_unique<AddOne>(), other);
  ASSERT_TRUE(quick && slow);
  EXPECT_NE(
      (*device)->adapt(std::make_unique<AddOne>(), unknown).error().message.find("no time for node 'x'"),
      std::string::npos);
  float x = 1, y = 0;
  const Input input{{&x, DType::f32, {1}}, nullptr, {}};
  Output output{{&y, DType::f32, {1}}, nullptr, false, {}};
  const RunContext context{.inputs = {&input, 1}, .outputs = {&output, 1}};
  EXPECT_TRUE((*quick)->run(context));  // computes
  double best = 1;
  for (int i = 0; i < 5; ++i) {
    y = 0;
    best = std::min(best, seconds([&] { EXPECT_TRUE((*quick)->run(context)); }));
    EXPECT_EQ(y, 2);
  }
  EXPECT_GE(best, 0.001);
  EXPECT_LT(best, 0.004);
  x = 5;  // other inputs give other results
  EXPECT_TRUE((*quick)->run(context));
  EXPECT_EQ(y, 6);
  EXPECT_GE(seconds([&] { EXPECT_TRUE((*slow)->run(context)); }), 0.030);
}

/// Returns the spans that a device reports for runs that are requested at once.
std::vector<std::pair<int64_t, int64_t>> spans_of_runs_at_once(const std::string& name, int count) {
  const auto device = *make_device(name);
  const std::string a[] = {"a"};
  const auto region = *device->adapt(std::make_unique<AddOne>(), a);
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> spans;
  std::latch all(count);
  const auto run = [&] {
    float x = 1, y = 0;
    const Input input{{&x, DType::f32, {1}}, nullptr, {}};
    Output output{{&y, DType::f32, {1}}, nullptr, false, {}};
    const TraceHook trace = [&](std::string_view, int64_t begin, int64_t end) {
      const std::lock_guard lock(mutex);
      spans.emplace_back(begin, end);
    };
    all.arrive_and_wait();
    EXPECT_TRUE(device->run(*region, {.inputs = {&input, 1}, .outputs = {&output, 1}, .trace = &trace}));
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(run);
  }
  std::ranges::sort(spans);
  return spans;
}

/// Checks spans: a host may learn late of an end, but the device starts what waits in time.
TEST(Devices, RunsThatWaitFollowEachOtherWithoutAGap) {
  const TestFolder folder;
  write_bytes(folder / "times.json", R"({"nodes": {"a": 200000}})");
  write_bytes(folder / "two.json", R"({"nodes": {"a": 200000}, "queues": 2})");
  const auto one = spans_of_runs_at_once("sim:10?times=" + (folder / "times.json"), 4);
  ASSERT_EQ(one.size(), 4u);
  for (size_t i = 1; i < one.size(); ++i) EXPECT_EQ(one[i].first, one[i - 1].second) << i;
  const auto two = spans_of_runs_at_once("sim:10?times=" + (folder / "two.json"), 4);
  ASSERT_EQ(two.size(), 4u);
  for (size_t i = 2; i < two.size(); ++i) EXPECT_EQ(two[i].first, two[i - 2].second) << i;
}

TEST(Devices, BadDeclaredTimesAreErrors) {
  const TestFolder folder;
  const auto error = [&](const char* text) {
    write_bytes(folder / "times.json", text);
    return make_device("sim:11?times=" + (folder / "times.json")).error().message;
  };
  EXPECT_NE(error("{").find("not JSON"), std::string::npos);
  EXPECT_NE(error("[]").find("want a JSON object"), std::string::npos);
  EXPECT_NE(error(R"({"node": {}})").find("unknown key \"node\""), std::string::npos);
  EXPECT_NE(error(R"({"nodes": {"a": -1}})").find("\"nodes\", 'a': got -1, want a number from 0"),
            std::string::npos);
  EXPECT_NE(error(R"({"nodes": {"a": "b"}})").find("got \"b\""), std::string::npos);
  EXPECT_NE(error(R"({"link": {"speed": 1}})").find("unknown key \"speed\""), std::string::npos);
  EXPECT_NE(make_device("sim:11?times=/no/such").error().message.find("cannot read the times in '/no/such'"),
            std::string::npos);
}

/// Copies host -> a -> a -> b -> host, four bytes at an offset of 4 on the devices.
void copy_around(const std::string& settings, const CopyCounts& want_a, const CopyCounts& want_b) {
  const auto a = *make_device("sim:8?latency_us=0" + settings),
             b = *make_device("sim:9?latency_us=0" + settings);
  MemorySpace &host = *host_memory_space(), &on_a = *a->space(), &on_b = *b->space();
  std::vector<std::byte> bytes(4, std::byte{9}), back(4), staging(4);
  const Memory first = *on_a.allocate(8), second = *on_a.allocate(8), third = *on_b.allocate(8);
  const auto copy = [&](MemorySpace& from, void* source, MemorySpace& to, void* target) {
    const size_t from_offset = from.is_host() ? 0 : 4, to_offset = to.is_host() ? 0 : 4;
    EXPECT_TRUE(copy_between(from, {source, from_offset}, to, {target, to_offset}, 4, staging.data()));
  };
  copy(host, bytes.data(), on_a, first.handle());
  copy(on_a, first.handle(), on_a, second.handle());
  copy(on_a, second.handle(), on_b, third.handle());
  copy(on_b, third.handle(), host, back.data());
  EXPECT_EQ(bytes, back);
  EXPECT_EQ(on_a.copy_counts(), want_a);
  EXPECT_EQ(on_b.copy_counts(), want_b);
}

TEST(Devices, CopyBetweenAnyTwo) {
  copy_around("", {1, 4, 1, 4}, {1, 4, 1, 4});
  copy_around("&direct=1", {1, 4, 0, 0}, {0, 0, 1, 4, 1, 4});
}

TEST(Devices, CoreSets) {
  const std::string all = CoreSet::of_this_thread().text();
  const auto device = make_device("cpu:" + all);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->space(), (*make_device("cpu"))->space());
  EXPECT_EQ((*device)->cores()->text(), all);
  const auto error = [](const char* name) { return make_device(name).error().message; };
  EXPECT_NE(error("cpu:4000").find("this process may use the CPUs " + all), std::string::npos);
  EXPECT_NE(error("cpu:x").find("'x' is not the number of a CPU"), std::string::npos);
}

}  // namespace
}  // namespace intarsia::test
