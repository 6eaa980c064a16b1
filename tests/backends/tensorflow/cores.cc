// Regions of TensorFlow on a core set: its threads stay there, and a process has one set.
//
// Covers: backends/tensorflow/ load.cc session.cc
// src/base/threads/ pool_cores.cc
#include "backends/tensorflow/load.h"
#include "backends/tensorflow/target.h"
#include "base/core_set.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"
#include "tests/support/region_support.h"
#include "tests/support/thread_cores.h"

namespace intarsia {
namespace {

using namespace test;

Graph negate(const Shape& shape) {
  GraphMaker g{"tensorflow", 1};
  Attributes types;
  types.set("T", tensorflow::encode_type(tensorflow::data_type_of(DType::f32)));
  const ValueId x = g.input("x", tensor_type(DType::f32, shape));
  return g.finish({g.node("Neg", {x}, tensor_type(DType::f32, shape), types)});
}

Result<std::unique_ptr<Executable>> load_on(const CompiledRegion& compiled, const CoreSet* cores) {
  LoadContext context{.blob = std::as_bytes(std::span(compiled.blob))};
  context.threads = 2;
  context.cores = cores;
  return tensorflow_run_backend().load(context);
}

/// Checks cores in a process whose compile half has already made the library's pool.
TEST(TensorFlowCores, ThreadsStayOnThemAndAnotherSetIsAnError) {
  const CoreSet all = CoreSet::of_this_thread();
  if (!all.contains(CoreSet::parse("0-1").value())) GTEST_SKIP() << "wants the CPUs 0 and 1";
  const CoreSet first = CoreSet::parse("0").value(), second = CoreSet::parse("1").value();
  const std::set<std::string> names{"tensorflow", "tf_Compute", "tf_graph_runner"};
  const Shape shape{1 << 20};
  const auto target = make_tensorflow_target({});
  ASSERT_TRUE(target) << error_of(target);
  const auto compiled = (*target)->compile(negate(shape), {}, {.threads = 2});
  ASSERT_TRUE(compiled) << error_of(compiled);
  EXPECT_GE(cores_of_threads(names).size(), 3u);
  const auto region = load_on(*compiled, &first);
  ASSERT_TRUE(region) << error_of(region);
  const Tensor x(DType::f32, shape), y(DType::f32, shape);
  const std::vector<Input> inputs{as_input(x)};
  std::vector<Output> outputs{into(y)};
  ASSERT_TRUE((*region)->run({inputs, outputs}));
  for (const CoreSet& cores : cores_of_threads(names)) EXPECT_EQ(cores.text(), "0");
  EXPECT_EQ(CoreSet::of_this_thread(), all);

  EXPECT_TRUE(load_on(*compiled, &first));
  EXPECT_EQ(
      error_of(load_on(*compiled, &second)),
      "TensorFlow region: TensorFlow has one pool of threads in a process, which is pinned to the cores "
      "0, and a "
      "region wants the cores 1; give all regions of TensorFlow the same cores, or run them in two "
      "processes");
}

}  // namespace
}  // namespace intarsia
