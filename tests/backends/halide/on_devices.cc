// Kernels of the halide backend, of every kind, on the first OpenCL and the first CUDA device of the machine,
// each against the reference kernels, with values at odd elements of the device's memory. Skipped where there
// is neither.
//
// Covers: backends/halide/build/ run_tiles.cc
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/halide/target.h"
#include "tests/backends/halide/cases.h"
#include "tests/backends/halide/device_runners.h"
#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

using halide::KernelDevice;

class HalideOnDevices : public testing::Test {
 protected:
  void SetUp() override {
    if (runners_.empty()) GTEST_SKIP() << "no OpenCL and no CUDA device";
  }

  const std::vector<Runner> runners_ = find_runners();
};

/// Returns why a device with or without f64 cannot run the graph; empty if it can.
std::string refusal(const Graph& graph, bool has_f64) {
  const auto target = halide::make_target();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Support support = target->supports(graph, NodeId(n), {"opencl", "opencl:0", {.has_f64 = has_f64}});
    if (!support.yes) return support.because;
  }
  return {};
}

class HalideCasesOnDevices : public HalideOnDevices, public testing::WithParamInterface<Case> {};

TEST_P(HalideCasesOnDevices, AgreeWithReference) {
  const Result<Graph> graph = make_graph(std::string("graph \"case\" opsets {\"\": 18}\n") + GetParam().text);
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(refusal(*graph, true), "");
  const bool wants_f64 =
      std::ranges::any_of(graph->values, [](const Value& value) { return value.type.dtype == DType::f64; });
  if (wants_f64) {
    EXPECT_EQ(refusal(*graph, false), "f64, which 'opencl:0' does not have");
  }
  const std::vector<Tensor> inputs = random_inputs(*graph);
  const auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;
  for (const Runner& runner : find_runners(GetParam().name)) {
    SCOPED_TRACE(describe(runner));
    if (wants_f64 && !device_features(runner.name).has_f64) continue;
    const auto loaded = LoadedRegion::make(*graph, {1, "native", {}}, {}, runner.device, runner.kernels);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto got = (*loaded)->run_on_device(inputs);
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(got->size(), want->size());
    for (size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(compare((*got)[i].view(), (*want)[i].view()), "") << "output " << i;
  }
}

/// Compares the only output of the graph, for an input of random numbers.
void check_on(const Runner& runner, const Graph& graph, const Shape& shape, const CompileOptions& options,
              double relative, double absolute) {
  SCOPED_TRACE(describe(runner));
  const std::vector<Tensor> inputs{random_tensor(DType::f32, shape, 1)};
  const auto loaded = LoadedRegion::make(graph, options, {}, runner.device, runner.kernels);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto got = (*loaded)->run_on_device(inputs), want = run_reference(graph, inputs);
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_TRUE(want) << want.error().message;
  EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view(), relative, absolute), "");
}

/// Checks groups whose work items each sum a slice of a reduction, and groups whose last one is not full.
TEST_F(HalideOnDevices, GroupsOfWorkItems) {
  const struct {
    const char* text;
    Shape x;
  } cases[] = {
      {"input %x : f32[1,256,7,7]\ninput %w : f32[96,256,3,3]\n%y = Conv(%x, %w) {pads=[1,1,1,1]}",
       {1, 256, 7, 7}},
      {"input %x : f32[2,256,9,11]\ninput %w : f32[64,128,1,1]\n%y = Conv(%x, %w) {group=2, strides=[2,2]}",
       {2, 256, 9, 11}},
      {"input %x : f32[3,5,512]\ninput %w : f32[512,88]\n%m = MatMul(%x, %w)\n%y = Relu(%m)", {3, 5, 512}},
      {"input %x : f32[2,64,64]\n%y = MatMul(%x, %x)", {2, 64, 64}},
      {"input %x : f32[2,24,33,31]\ninput %w : f32[32,24,1,1]\n%y = Conv(%x, %w)", {2, 24, 33, 31}},
      {"input %x : f32[7,3,200]\ninput %w : f32[200]\n%y = LayerNormalization(%x, %w)", {7, 3, 200}},
      {"input %x : f32[5,197]\n%y = Softmax(%x) {axis=1}", {5, 197}},
      {"input %x : f32[1,6,30,19]\ninput %w : f32[8,6,1,1]\n%c = Conv(%x, %w)\n%y = GlobalAveragePool(%c)",
       {1, 6, 30, 19}},
      {"input %x : f32[2,100,3]\nconst %axes : i64[1] = {1}\n%y = ReduceMax(%x, %axes)", {2, 100, 3}},
      {"input %x : f32[3,4,70]\nconst %axes : i64[2] = {1, 2}\n%y = ReduceMean(%x, %axes)", {3, 4, 70}}};
  for (const auto& [text, x] : cases) {
    SCOPED_TRACE(text);
    const auto graph = make_graph(fmt::format("graph \"groups\" opsets {{\"\": 18}}\n{}\noutput %y", text));
    ASSERT_TRUE(graph) << graph.error().message;
    for (const Runner& runner : runners_)
      if (runner.kernels != KernelDevice::opencl)
        check_on(runner, *graph, x, {1, "native", true}, 1e-3, 1e-5);
  }
}

/// Checks rows that are longer than a work item has room for.
TEST_F(HalideOnDevices, LongRowsAndScans) {
  for (const char* operators :
       {"%y = LayerNormalization(%x, %w)", "%y = Softmax(%x) {axis=1}", "%y = ReduceMean(%x, %axis)",
        "%s = CumSum(%x, %axis)\n%y = Relu(%s)", "%y = CumSum(%x, %axis) {reverse=1, exclusive=1}"}) {
    SCOPED_TRACE(operators);
    const auto graph = make_graph(
        fmt::format("graph \"long\" opsets {{\"\": 18}}\ninput %x : f32[2,70001]\ninput %w : f32[70001]\n"
                    "const %axis : i64[1] = {{1}}\n{}\noutput %y",
                    operators));
    ASSERT_TRUE(graph) << graph.error().message;
    for (const Runner& runner : runners_) check_on(runner, *graph, {2, 70001}, {1, "native", {}}, 1e-3, 1e-4);
  }
}

TEST(HalideKernelsOfProcessors, DevicesRefuseThem) {
  for (const Case& one : processor_cases) {
    const Result<Graph> graph = make_graph(std::string("graph \"case\" opsets {\"\": 18}\n") + one.text);
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_NE(refusal(*graph, true), "") << one.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HalideCasesOnDevices, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace intarsia::test
