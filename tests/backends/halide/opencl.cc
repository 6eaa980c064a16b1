// Every kind of kernel of the halide backend on an OpenCL device against the reference kernels, with values
// at odd elements of the device's memory. Skipped where there is no device.
//
// Covers: backends/halide/build/ run_tiles.cc
#include <gtest/gtest.h>

#include <map>

#include "backends/halide/target.h"
#include "device/devices.h"
#include "tests/backends/halide/cases.h"
#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

/// Why a case has no kernel on a device yet; a case that is supported must not be here.
const std::map<std::string_view, std::string_view> unsupported = {
    {"AttentionLookAlikes", "f64"},
    {"DoubleConvMatMul", "f64"},
    {"LstmOneStep", "no kernel for LSTM"},
    {"LstmReverse", "no kernel for LSTM"},
    {"LstmBidirectionalBatchFirst", "no kernel for LSTM"},
    {"LstmLastStateOnly", "no kernel for LSTM"},
    {"LstmStacked", "no kernel for LSTM"},
    {"LstmWide", "no kernel for LSTM"},
    {"GruResetsBefore", "no kernel for GRU"},
    {"GruResetsBehind", "no kernel for GRU"},
    {"GruBidirectionalResetsBefore", "no kernel for GRU"},
    {"GruBidirectionalInPlace", "no kernel for GRU"},
    {"GruIntoOutput", "no kernel for GRU"},
    {"GruWide", "no kernel for GRU"},
    {"RnnTanhAndRelu", "no kernel for RNN"},
};

std::string refusal(const Graph& graph) {
  const auto target = halide::make_target();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Support support = target->supports(graph, NodeId(n), {"opencl", "opencl:0"});
    if (!support.yes) return support.because;
  }
  return {};
}

class HalideOpencl : public testing::TestWithParam<Case> {};

TEST_P(HalideOpencl, AgreesWithReference) {
  const auto device = make_device("opencl:0");
  if (!device) GTEST_SKIP() << device.error().message;
  const Result<Graph> graph = make_graph(std::string("graph \"case\" opsets {\"\": 18}\n") + GetParam().text);
  ASSERT_TRUE(graph) << graph.error().message;
  const std::string because = refusal(*graph);
  if (const auto known = unsupported.find(GetParam().name); known != unsupported.end()) {
    EXPECT_TRUE(because.starts_with(known->second)) << because;
    return;
  }
  ASSERT_EQ(because, "");
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph->inputs.size(); ++i) {
    const ValueType& type = graph->value(graph->inputs[i]).type;
    inputs.push_back(random_tensor(type.dtype, *type.fixed_shape(), i + 1));
  }
  const auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;
  const auto loaded = LoadedRegion::make(*graph, {1, "native", {}}, {}, *device);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto got = (*loaded)->run_on_device(inputs);
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < want->size(); ++i)
    EXPECT_EQ(compare((*got)[i].view(), (*want)[i].view()), "") << "output " << i;
}

/// What a work item keeps has a limit, up to which it works.
TEST(HalideOpenclLimits, RowsAndScans) {
  const struct {
    const char* operators;
    int64_t longest;
  } cases[] = {{"%y = LayerNormalization(%x, %w)", 65536},
               {"const %axis : i64[] = {1}\n%y = CumSum(%x, %axis)", 2048}};
  const auto device = make_device("opencl:0");
  for (const auto& [operators, longest] : cases) {
    const auto graph_of = [&](int64_t size) {
      return *make_graph(
          fmt::format("graph \"limits\" opsets {{\"\": 18}}\ninput %x : f32[2,{0}]\ninput %w : "
                      "f32[{0}]\n{1}\noutput %y",
                      size, operators));
    };
    EXPECT_NE(refusal(graph_of(longest + 1)), "") << operators;
    const Graph graph = graph_of(longest);
    EXPECT_EQ(refusal(graph), "") << operators;
    if (!device) continue;
    const std::vector<Tensor> inputs{random_tensor(DType::f32, {2, longest}, 1)};
    const auto loaded = LoadedRegion::make(graph, {1, "native", {}}, {}, *device);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto got = (*loaded)->run_on_device(inputs), want = run_reference(graph, inputs);
    ASSERT_TRUE(got && want);
    EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view(), 1e-3, 1e-4), "") << operators;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HalideOpencl, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace intarsia::test
