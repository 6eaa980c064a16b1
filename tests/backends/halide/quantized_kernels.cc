// Kernels that compute with integers of 8 bits, in quantized graphs of all forms, against the reference
// kernels, between guard pages: with dot products of this machine, those of AVX-VNNI and AVX-512 VNNI, and
// with the instructions of lower levels.
//
// Covers: backends/halide/canonicalize/ canonicalize_quantization.cc integer_product.cc
// quantized_constants.cc rewrite_on_integers.cc rewriter.cc tabulate.cc
// backends/halide/build/ build_contraction.cc build_depthwise.cc dot_tiles.cc product_loops.cc stage_input.cc
// backends/halide/emit/ dot_tiles.c
// backends/halide/memory/ pack_weights.cc
// src/base/ cpu_level.cc
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>

#include "backends/halide/compile_region.h"
#include "base/cpu_level.h"
#include "tests/backends/halide/device_runners.h"
#include "tests/backends/halide/quantized_cases.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

class QuantizedKernels : public testing::TestWithParam<QuantizedCase> {
 protected:
  /// Runs code for a level or a processor, if this machine can.
  void expect_as_reference(const char* activations, const char* weights, const char* level, int threads) {
    if (!runs_here(level)) return;
    SCOPED_TRACE(fmt::format("{} by {}, {}, {} threads", activations, weights, level, threads));
    std::mt19937 random(static_cast<uint32_t>(threads) + 7);
    const auto graph = make_quantized(GetParam(), activations, weights, random);
    ASSERT_TRUE(graph) << graph.error().message;
    std::vector<Tensor> inputs = random_inputs(*graph);
    for (Tensor& input : inputs) fill_integers(input, random);
    const auto want = run_reference(*graph, inputs);
    ASSERT_TRUE(want) << want.error().message;
    const auto loaded = LoadedRegion::make(*graph, {threads, level, {}}, {});
    ASSERT_TRUE(loaded) << loaded.error().message;
    TestTeam team(threads);
    for (const bool at_end : {true, false}) {
      const auto got = (*loaded)->run_guarded(inputs, at_end, {}, &team);
      ASSERT_TRUE(got) << got.error().message;
      for (size_t i = 0; i < want->size(); ++i) expect_near((*got)[i], (*want)[i]);
    }
  }
};

TEST_P(QuantizedKernels, AgreeWithReference) {
  const bool is_first = form_of(GetParam().name) == 0;
  expect_as_reference("u8", "i8", "native", 1);
  expect_as_reference("i8", is_first ? "i8" : "u8", is_first ? "x86-64-v3" : "x86-64-v4", 2);
  for (const char* dots : {"alderlake", "cascadelake"})
    expect_as_reference("u8", is_first ? "u8" : "i8", dots, 2);
  if (rounds() == 1) return;
  for (const char* activations : {"u8", "i8"})
    for (const char* weights : {"u8", "i8"})
      for (const char* level : {"native", "x86-64-v2", "x86-64-v3", "x86-64-v4", "alderlake", "cascadelake"})
        expect_as_reference(activations, weights, level, 2);
}

/// Checks about half of the cases, as a driver builds kernels slowly; with more rounds all.
TEST_P(QuantizedKernels, AgreeWithReferenceOnDevices) {
  std::mt19937 random(3);
  const bool is_first = form_of(GetParam().name) == 0;
  if (!is_first && rounds() == 1) return;
  const auto graph = make_quantized(GetParam(), is_first ? "u8" : "i8", "i8", random);
  ASSERT_TRUE(graph) << graph.error().message;
  std::vector<Tensor> inputs = random_inputs(*graph);
  for (Tensor& input : inputs) fill_integers(input, random);
  const auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;
  for (const Runner& runner : find_runners(GetParam().name)) {
    SCOPED_TRACE(describe(runner));
    const auto loaded = LoadedRegion::make(*graph, {1, "native", {}}, {}, runner.device, runner.kernels);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto got = (*loaded)->run_on_device(inputs);
    ASSERT_TRUE(got) << got.error().message;
    for (size_t i = 0; i < want->size(); ++i) expect_near((*got)[i], (*want)[i]);
  }
}

/// Checks that weights of products are not in the program as f32.
TEST_P(QuantizedKernels, KeepWeightsInEightBits) {
  std::mt19937 random(1);
  const auto graph = make_quantized(GetParam(), "u8", "i8", random);
  ASSERT_TRUE(graph) << graph.error().message;
  if (!GetParam().in_integers) return;
  const auto region = halide::compile_region(*graph, test_emitter(), {1, "native", {}}, {});
  ASSERT_TRUE(region) << region.error().message;
  for (const Tensor& constant : region->constants) {
    if (constant.dtype() == DType::f32) {
      EXPECT_LE(element_count(constant.shape()), 64);
    }
  }
}

/// Checks that dot products are those of the processor, and that a program demands nothing else of it.
TEST(DotTiles, AreCalledForWholeVectors) {
  std::mt19937 random(1);
  for (const auto& [cpu, feature, function] : {std::tuple{"alderlake", "avxvnni", "intarsia_dot_tile_256_"},
                                               {"cascadelake", "avx512vnni", "intarsia_dot_tile_512_"}}) {
    for (const QuantizedCase& one : {quantized_cases[0], quantized_cases[2]}) {  // 10 and 48 channels
      SCOPED_TRACE(fmt::format("{} {}", one.name, cpu));
      const auto graph = make_quantized(one, "u8", "i8", random);
      const auto region = halide::compile_region(*graph, test_emitter(), {1, cpu, {}}, {});
      ASSERT_TRUE(region) << region.error().message;
      const bool is_whole = one.name == std::string("Conv1x1") || cpu == std::string("alderlake");
      const auto kernels = std::span(region->object_files).first(static_cast<size_t>(region->kernels));
      EXPECT_EQ(std::ranges::any_of(kernels, [&](const auto& code) { return code.contains(function); }),
                is_whole);
      EXPECT_EQ(region->cpu_features,
                is_whole ? std::vector<std::string>{feature} : std::vector<std::string>());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, QuantizedKernels, testing::ValuesIn(quantized_cases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace intarsia::test
