// Regions of OpenVINO on a core set: its threads stay there, and a process has one set.
//
// Covers: backends/openvino/ load.cc library.cc
// src/base/threads/ pool_cores.cc
#include <atomic>
#include <thread>

#include "base/core_set.h"
#include "base/threads/pool_cores.h"
#include "tests/backends/openvino/graphs.h"
#include "tests/support/thread_cores.h"

namespace intarsia {
namespace {

using namespace test;

const Shape image{1, 32, 56, 56};

/// Makes a graph with enough work for several threads.
Graph convolutions() {
  GraphMaker g;
  const ValueType type = tensor_type(DType::f32, image);
  Attributes padded;
  padded.set("pads", std::vector<int64_t>{1, 1, 1, 1});
  ValueId x = g.input("x", type);
  const ValueId weights = g.constant("w", Tensor(DType::f32, {32, 32, 3, 3}));
  for (int i = 0; i < 4; ++i) x = g.node("Relu", {g.node("Conv", {x, weights}, type, padded)}, type);
  return g.finish({x});
}

Result<std::unique_ptr<Executable>> load_on(const CompiledRegion& compiled, const CoreSet* cores) {
  LoadContext context{.blob = std::as_bytes(std::span(compiled.blob))};
  context.threads = 2;
  context.cores = cores;
  return openvino_run_backend().load(context);
}

TEST(OpenVinoCores, ThreadsStayOnThemAndAnotherSetIsAnError) {
  const CoreSet all = CoreSet::of_this_thread();
  if (!all.contains(CoreSet::parse("0-1").value())) GTEST_SKIP() << "wants the CPUs 0 and 1";
  const CoreSet first = CoreSet::parse("0").value(), second = CoreSet::parse("1").value();
  const auto compiled = make_openvino_target()->compile(convolutions(), {}, {});
  ASSERT_TRUE(compiled) << error_of(compiled);
  const auto region = load_on(*compiled, &first);
  ASSERT_TRUE(region) << error_of(region);
  const Tensor x(DType::f32, image), y(DType::f32, image);
  std::atomic<bool> is_done = false, has_left = false;
  std::thread caller([&] {
    const NamesNewThreads named("caller");
    const BoundThread bound(first);  // binds the thread as that of an executor
    const std::vector<Input> inputs{as_input(x)};
    std::vector<Output> outputs{into(y)};
    for (int i = 0; i < 50; ++i) {
      const Status ran = (*region)->run({inputs, outputs});
      EXPECT_TRUE(ran) << error_of(ran);
      if (i == 2) is_done = true;
      has_left = has_left || CoreSet::of_this_thread() != first;
    }
  });
  while (!is_done) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    for (const CoreSet& cores : cores_of_threads({"openvino"})) EXPECT_EQ(cores.text(), "0");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  caller.join();
  EXPECT_GE(cores_of_threads({"openvino"}).size(), 1u);
  EXPECT_FALSE(has_left);
  EXPECT_EQ(CoreSet::of_this_thread(), all);

  EXPECT_TRUE(load_on(*compiled, &first));
  EXPECT_EQ(
      error_of(load_on(*compiled, &second)),
      "OpenVINO region: OpenVINO has one pool of threads in a process, which is pinned to the cores 0, and a "
      "region wants the cores 1; give all regions of OpenVINO the same cores, or run them in two processes");
  EXPECT_NE(error_of(load_on(*compiled, nullptr)).find("wants no cores in particular"), std::string::npos);
}

}  // namespace
}  // namespace intarsia
