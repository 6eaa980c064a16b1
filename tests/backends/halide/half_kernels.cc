// Kernels of the halide backend that read and write floats of 16 bits, of every kind, against the reference
// kernels, between guard pages: the cases of f32 with another type. Each computes in f32, and rounds what an
// operator of the model gives.
//
// Covers: backends/halide/abi/ element_types.h
// backends/halide/build/ amx_products.cc convert.cc half_floats_as_bits.cc
// backends/halide/canonicalize/ canonicalize_quantization.cc rewriter.cc
// backends/halide/core/ half_floats.cc half_floats.h
// backends/halide/memory/ pack_weights.cc
// backends/halide/schedule/ amx_schedule.cc
// src/base/ cpu_level.cc
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "backends/halide/core/half_floats.h"
#include "base/cpu_level.h"
#include "passes/infer_shapes.h"
#include "tests/backends/halide/cases.h"
#include "tests/backends/halide/device_runners.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

/// Returns the graph with another type in place of f32. Scales of a Resize are f32 in all graphs.
Result<Graph> with_dtype(Graph graph, DType dtype) {
  std::set<ValueId> scales;
  for (const Node& node : graph.nodes)
    if (node.op == "Resize") scales.insert(node.inputs.begin() + 1, node.inputs.end());
  for (size_t v = 0; v < graph.values.size(); ++v) {
    Value& value = graph.values[v];
    if (value.type.dtype != DType::f32 || scales.contains(ValueId(v))) continue;
    value.type.dtype = dtype;
    if (value.constant) value.constant = halide::narrowed(*value.constant, dtype);
  }
  TRY(infer_shapes(graph, {}));
  return graph;
}

/// Case of f32 with another type, and what the reference kernels make of it.
struct HalfCase {
  DType dtype;
  Graph graph;
  std::vector<Tensor> inputs, want;

  static Result<HalfCase> make(const Case& one, DType dtype) {
    HalfCase made{
        dtype, TRY(make_graph(std::string("graph \"case\" opsets {\"\": 18}\n") + one.text)), {}, {}};
    made.graph = TRY(with_dtype(std::move(made.graph), dtype));
    made.inputs = random_inputs(made.graph);
    made.want = TRY(run_reference(made.graph, made.inputs));
    return made;
  }

  /// Compares outputs. A number of f32 in the middle of two may be rounded to either, and what follows from
  /// it differs, too.
  void expect_equal(const std::vector<Tensor>& got) const {
    const double step = dtype == DType::f16 ? 1.0 / 1024 : 1.0 / 128;
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(compare(got[i].view(), want[i].view(), 4 * step, 2 * step), "") << "output " << i;
  }
};

class HalfKernels : public testing::TestWithParam<Case> {
 protected:
  void expect_as_reference(DType dtype) {
    SCOPED_TRACE(dtype_name(dtype));
    const Result<HalfCase> made = HalfCase::make(GetParam(), dtype);
    ASSERT_TRUE(made) << made.error().message;
    const int threads = 1 + form_of(GetParam().name);
    const char* level = threads == 1 ? "native" : "x86-64-v3";
    const auto loaded = LoadedRegion::make(made->graph, {threads, level, {}}, {});
    ASSERT_TRUE(loaded) << loaded.error().message;
    TestTeam team(threads);
    for (const bool at_end : {true, false}) {
      const auto got = (*loaded)->run_guarded(made->inputs, at_end, {}, &team);
      ASSERT_TRUE(got) << got.error().message;
      made->expect_equal(*got);
    }
  }
};

TEST_P(HalfKernels, AgreeWithReference) {
  const DType first = form_of(GetParam().name) == 0 ? DType::f16 : DType::bf16;
  expect_as_reference(first);
  if (rounds() > 1) expect_as_reference(first == DType::f16 ? DType::bf16 : DType::f16);
}

INSTANTIATE_TEST_SUITE_P(Cases, HalfKernels, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(ProcessorCases, HalfKernels, testing::ValuesIn(processor_cases),
                         [](const auto& info) { return std::string(info.param.name); });

/// Returns a case of every kind, since a driver takes seconds for some; with more rounds all.
std::vector<Case> cases_on_devices() {
  constexpr std::string_view few[] = {"Unary",         "Conv3x3",           "ConvDepthwise", "MatMulDynamic",
                                      "SoftmaxMiddle", "MaxPool",           "LstmOneStep",   "PadModes",
                                      "Gathers",       "LayerNormalization"};
  std::vector<Case> chosen(std::begin(cases), std::end(cases));
  if (rounds() == 1)
    std::erase_if(chosen, [&](const Case& one) { return std::ranges::find(few, one.name) == std::end(few); });
  return chosen;
}

class HalfKernelsOnDevices : public testing::TestWithParam<Case> {};

/// Checks devices without types of 16 bits: their code holds bits.
TEST_P(HalfKernelsOnDevices, AgreeWithReference) {
  const std::vector<Runner> runners = find_runners(GetParam().name);
  if (runners.empty()) GTEST_SKIP() << "no OpenCL and no CUDA device";
  for (const DType dtype : {DType::f16, DType::bf16}) {
    SCOPED_TRACE(dtype_name(dtype));
    const Result<HalfCase> made = HalfCase::make(GetParam(), dtype);
    ASSERT_TRUE(made) << made.error().message;
    for (const Runner& runner : runners) {
      SCOPED_TRACE(describe(runner));
      const auto loaded =
          LoadedRegion::make(made->graph, {1, "native", {}}, {}, runner.device, runner.kernels);
      ASSERT_TRUE(loaded) << loaded.error().message;
      const auto got = (*loaded)->run_on_device(made->inputs);
      ASSERT_TRUE(got) << got.error().message;
      made->expect_equal(*got);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HalfKernelsOnDevices, testing::ValuesIn(cases_on_devices()),
                         [](const auto& info) { return std::string(info.param.name); });

/// Checks that quotients are rounded to 16 bits before they are rounded to integers, which then are equal.
TEST(HalfQuantization, RoundsAsReference) {
  for (const char* dtype : {"f16", "bf16"})
    for (const char* precision : {"", ", precision=1"}) {
      SCOPED_TRACE(fmt::format("{}{}", dtype, precision));
      std::string text =
          "graph \"quantized\" opsets {\"\": 24}\ninput %x : H[30,7,50]\ninput %w_scale : H[7]\n"
          "input %w_zero : u8[7]\n%q = QuantizeLinear(%x, %w_scale, %w_zero) {axis=1PRECISION}\n"
          "%d = DequantizeLinear(%q, %w_scale, %w_zero) {axis=1}\n%y = Mul(%d, %x)\noutput %q\noutput %y\n";
      for (size_t at; (at = text.find("H[")) != std::string::npos;) text.replace(at, 1, dtype);
      text.replace(text.find("PRECISION"), 9, precision);
      auto graph = make_graph(text);
      ASSERT_TRUE(graph) << graph.error().message;
      for (Value& value : graph->values)
        for (size_t i = 0; value.name == "w_scale" && i < 7; ++i)
          value.constant->as<uint16_t>()[i] =
              halide::round_half_float(value.type.dtype, 0.01F + 0.003F * static_cast<float>(i));
      const std::vector<Tensor> inputs = random_inputs(*graph);
      const auto want = run_reference(*graph, inputs);
      ASSERT_TRUE(want) << want.error().message;
      const auto loaded = LoadedRegion::make(*graph, {1, "native", {}}, {});
      ASSERT_TRUE(loaded) << loaded.error().message;
      const auto got = (*loaded)->run_guarded(inputs, true, {}, nullptr);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view()), "");
      EXPECT_EQ(compare((*got)[1].view(), (*want)[1].view(), 1.0 / 128, 1.0 / 128), "");
    }
}

/// Products of two factors of bf16 with sizes that nothing divides evenly, and a depth that is even but for
/// the last.
constexpr const char* products[] = {
    "input %x : bf16[37,66]\ninput %w : bf16[66,50]\n%y = MatMul(%x, %w)",
    "input %x : bf16[2,3,130]\ninput %w : bf16[130,17]\n%m = MatMul(%x, %w)\n%y = Relu(%m)",
    "input %x : bf16[1,10,13,9]\ninput %w : bf16[19,10,3,3]\n%y = Conv(%x, %w) {pads=[1,1,1,1]}",
    "input %x : bf16[2,12,7,11]\ninput %w : bf16[32,6,3,1]\ninput %w_b : bf16[32]\n"
    "%y = Conv(%x, %w, %w_b) {group=2, strides=[2,1]}",
    "input %x : bf16[1,64,9,5]\ninput %w : bf16[48,64,1,1]\n%y = Conv(%x, %w)",
    "input %x : bf16[1,96,14,30]\ninput %w : bf16[80,96,3,3]\n%y = Conv(%x, %w) {pads=[1,1,1,1], "
    "strides=[2,1]}",
    "input %x : bf16[70,200]\ninput %w : bf16[200,160]\ninput %w_b : bf16[160]\n"
    "%m = MatMul(%x, %w)\n%a = Add(%m, %w_b)\n%y = Relu(%a)",
    "input %x : bf16[2,3,70,130]\ninput %w : bf16[3,130,40]\n%y = MatMul(%x, %w)",
    "input %x : bf16[5,7]\ninput %w : bf16[7,33]\n%y = MatMul(%x, %w)"};

/// Graph with inputs, and what the reference kernels make of them.
struct Expected {
  Graph graph;
  std::vector<Tensor> inputs, want;

  static Result<Expected> make(const std::string& text) {
    Expected expected{TRY(make_graph(text)), {}, {}};
    expected.inputs = random_inputs(expected.graph);
    expected.want = TRY(run_reference(expected.graph, expected.inputs));
    return expected;
  }

  /// Makes a product of bf16 one of f32.
  static Result<Expected> of_f32(const char* product) {
    std::string text = fmt::format("graph \"product\" opsets {{\"\": 18}}\n{}\noutput %y", product);
    for (size_t at = 0; (at = text.find("bf16[", at)) != std::string::npos;) text.replace(at, 5, "f32[");
    return make(text);
  }
};

/// Returns the only output of a graph's kernels, which run between guard pages.
Result<Tensor> output_of(const Graph& graph, const CompileOptions& options, const std::vector<Tensor>& inputs,
                         bool at_end = true) {
  const auto loaded = TRY(LoadedRegion::make(graph, options, {}));
  TestTeam team(options.threads);
  return TRY(loaded->run_guarded(inputs, at_end, {}, &team))[0];
}

TEST(ProductsOfPairs, AgreeWithReference) {
  for (const char* product : products) {
    SCOPED_TRACE(product);
    const auto expected =
        Expected::make(fmt::format("graph \"product\" opsets {{\"\": 18}}\n{}\noutput %y", product));
    ASSERT_TRUE(expected) << expected.error().message;
    const auto& [graph, inputs, want] = *expected;
    for (const int threads : {1, 2}) {
      CostTable costs("");
      Tuner tuner = random_tuner(costs, static_cast<uint32_t>(threads));
      CompileOptions options{threads, "native", {}};
      if (threads == 2) options.tuner = &tuner;
      const Result<Tensor> got = output_of(graph, options, inputs);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(compare(got->view(), want[0].view(), 1.0 / 128, 1.0 / 256), "") << threads << " threads";
    }
  }
}

/// Pictures whose rows fill tile registers with some of their neighbors, or not, with and without padding;
/// and some of few channels.
constexpr const char* pictures[] = {
    "input %x : f32[1,64,7,7]\ninput %w : f32[64,64,3,3]\n%y = Conv(%x, %w) {pads=[1,1,1,1]}",
    "input %x : f32[2,40,9,14]\ninput %w : f32[32,40,3,3]\n%c = Conv(%x, %w) {pads=[1,1,1,1]}\n%y = Relu(%c)",
    "input %x : f32[1,33,11,57]\ninput %w : f32[80,33,1,1]\n%y = Conv(%x, %w) {strides=[2,2]}",
    "input %x : f32[1,32,5,20]\ninput %w : f32[64,32,2,3]\n%y = Conv(%x, %w)",
    "input %x : f32[2,3,37,29]\ninput %w : f32[32,3,7,7]\n%y = Conv(%x, %w) {pads=[3,3,3,3], strides=[2,2]}",
    "input %x : f32[1,3,24,40]\ninput %w : f32[48,3,8,8]\n%y = Conv(%x, %w) {strides=[8,8]}",
    "input %x : f32[1,5,9,31]\ninput %w : f32[16,5,1,3]\n%c = Conv(%x, %w) {pads=[0,4,0,1], "
    "dilations=[1,2]}\n"
    "%y = Relu(%c)",
    "input %x : f32[1,32,10,12]\ninput %w : f32[32,32,1,1]\ninput %w2 : f32[32,32,3,3]\n"
    "%a = Conv(%x, %w)\n%r = Relu(%a)\n%b = Conv(%r, %w)\n%s = Add(%b, %r)\n"
    "%m = MaxPool(%s) {kernel_shape=[2,2], strides=[2,2]}\n%c = Conv(%m, %w2) {pads=[1,1,1,1]}\n"
    "%d = Conv(%m, %w)\n%y = Add(%c, %d)"};

/// Checks all tiles of tile registers: with random times, each compile takes some of them.
TEST(ProductsOfPairs, TakeRowsOfPicturesInTiles) {
  for (const char* picture : pictures) {
    SCOPED_TRACE(picture);
    const auto expected =
        Expected::make(fmt::format("graph \"picture\" opsets {{\"\": 18}}\n{}\noutput %y", picture));
    ASSERT_TRUE(expected) << expected.error().message;
    const auto& [graph, inputs, want] = *expected;
    for (uint32_t seed = 1; seed <= (rounds() > 1 ? 12u : 2u); ++seed) {
      CostTable costs("");
      Tuner tuner = random_tuner(costs, seed);
      if (rounds() > 1) tuner.effort = Tune::full;
      CompileOptions options{1 + static_cast<int>(seed % 2), "native", {}};
      options.rounds_to = DType::bf16;
      options.tuner = &tuner;
      for (const bool at_end : {true, false}) {
        const Result<Tensor> got = output_of(graph, options, inputs, at_end);
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(compare(got->view(), want[0].view(), 1.0 / 128, 1.0 / 256), "") << "seed " << seed;
      }
    }
  }
}

/// Checks products of f32 that may round their factors, which they do only where the CPU has dot products.
TEST(ProductsOfPairs, RoundFactorsOfF32WhereThatIsAllowed) {
  for (const char* product : products) {
    SCOPED_TRACE(product);
    const auto expected = Expected::of_f32(product);
    ASSERT_TRUE(expected) << expected.error().message;
    const auto& [graph, inputs, want] = *expected;
    for (const int threads : {1, 2}) {
      CompileOptions options{threads, "native", {}};
      options.rounds_to = DType::bf16;
      const Result<Tensor> got = output_of(graph, options, inputs);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(compare(got->view(), want[0].view(), 1.0 / 128, 1.0 / 256), "") << threads << " threads";
      const bool rounds = compare(got->view(), want[0].view(), 1e-5, 1e-6) != "";
      const bool is_even = std::string_view(product).find("[7,33]") == std::string_view::npos &&
                           std::string_view(product).find("group") == std::string_view::npos;
      if (is_even) {
        EXPECT_EQ(rounds, dot_products() != DotProducts::none);
      }
    }
  }
}

/// Checks that weights stay f16 where rounding to it is allowed, unless one of them is beyond its range.
TEST(ProductsOfPairs, KeepWeightsAsF16WhereThatIsAllowed) {
  for (const char* product : products) {
    SCOPED_TRACE(product);
    const auto expected = Expected::of_f32(product);
    ASSERT_TRUE(expected) << expected.error().message;
    auto [graph, inputs, want] = *expected;
    CompileOptions options{1, "x86-64-v3", {}};
    options.rounds_to = DType::f16;
    options.prefers_size = true;  // all weights that may be rounded are
    const Result<Tensor> got = output_of(graph, options, inputs);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(compare(got->view(), want[0].view(), 2e-3, 2e-3), "");
    EXPECT_NE(compare(got->view(), want[0].view(), 1e-6, 1e-7), "");
    for (Value& value : graph.values)
      if (value.constant && value.constant->shape().size() > 1) value.constant->as<float>()[0] = 1e6;
    const auto large = run_reference(graph, inputs);
    ASSERT_TRUE(large) << large.error().message;
    const Result<Tensor> exact = output_of(graph, options, inputs);
    ASSERT_TRUE(exact) << exact.error().message;
    EXPECT_EQ(compare(exact->view(), (*large)[0].view(), 1e-5, 1e-5), "");
  }
}

/// Attention of f32, with rows, keys, depths and channels that fill tile registers or do not.
constexpr const char* attentions[] = {
    "input %q : f32[1,3,128,64]\ninput %k : f32[1,3,64,128]\ninput %v : f32[1,3,128,64]\n",
    "input %q : f32[2,2,67,40]\ninput %k : f32[2,2,40,101]\ninput %v : f32[2,2,101,48]\n",
    "input %q : f32[3,9,16]\ninput %k : f32[3,16,33]\ninput %v : f32[3,33,16]\n",
    "input %q : f32[40,24]\ninput %k : f32[24,32]\ninput %v : f32[32,96]\n"};

TEST(ProductsOfPairs, RoundFactorsOfAttention) {
  for (const char* attention : attentions) {
    SCOPED_TRACE(attention);
    const auto expected =
        Expected::make(fmt::format("graph \"attention\" opsets {{\"\": 18}}\n{}%s = MatMul(%q, %k)\n"
                                   "%p = Softmax(%s) {{axis=-1}}\n%y = MatMul(%p, %v)\noutput %y",
                                   attention));
    ASSERT_TRUE(expected) << expected.error().message;
    const auto& [graph, inputs, want] = *expected;
    for (const int threads : {1, 2}) {
      CompileOptions options{threads, "native", {}};
      options.rounds_to = DType::bf16;
      for (const bool at_end : {true, false}) {
        const Result<Tensor> got = output_of(graph, options, inputs, at_end);
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(compare(got->view(), want[0].view(), 0.05, 0.06), "") << threads << " threads";
        const bool rounds = compare(got->view(), want[0].view(), 1e-5, 1e-6) != "";
        if (dot_products() == DotProducts::amx || !multiplies_bf16(dot_products())) {
          EXPECT_EQ(rounds, dot_products() == DotProducts::amx);
        }
      }
    }
  }
}

/// Checks that code with instructions beyond the CPU's level says so, and that code for a level has none.
TEST(ProductsOfPairs, NeedFeaturesOfTheCpu) {
  const auto graph =
      make_graph(fmt::format("graph \"product\" opsets {{\"\": 18}}\n{}\noutput %y", products[0]));
  ASSERT_TRUE(graph) << graph.error().message;
  for (const char* level : {"native", "x86-64-v4"}) {
    const auto region = halide::compile_region(*graph, test_emitter(), {1, level, {}}, {});
    ASSERT_TRUE(region) << region.error().message;
    const bool is_native = level == std::string("native");
    EXPECT_EQ(region->cpu_features, features_of_dot_products(is_native ? dot_products() : DotProducts::none));
  }
}

}  // namespace
}  // namespace intarsia::test
