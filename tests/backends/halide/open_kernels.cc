// Kernels whose sizes are known when they run, of every kind that has them, against the reference kernels:
// with sizes of nothing, of one, of tiles and vectors and one off, between guard pages. Half of them are
// compiled for one thread, half for two; with more rounds all for both.
//
// Covers: backends/halide/build/ build_attention.cc build_contraction.cc build_depthwise.cc build_kernel.cc
// build_movement.cc build_pointwise.cc build_recurrence.cc build_reduction.cc build_resize.cc build_scan.cc
// build_window.cc build_winograd.cc even_tiles.cc schedule_contraction.cc stage_input.cc
// backends/halide/canonicalize/ canonicalize.cc canonicalize_contraction.cc canonicalize_movement.cc
// canonicalize_recurrent.cc canonicalize_resize.cc canonicalize_window.cc rewriter.cc
// backends/halide/core/ core_attributes.cc size_texts.cc
// backends/halide/emit/ encode_open_plan.cc kernel_message.cc
// backends/halide/memory/ plan_memory.cc verify_memory.cc
// backends/halide/runtime/ load_open_region.cc open_region.cc
// backends/halide/schedule/ index_checks.cc kernel.cc kernel_name.cc recurrence.cc
// backends/halide/tune/ choose_schedules.cc
#include <gtest/gtest.h>

#include <random>

#include "tests/backends/halide/open_cases.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

class OpenKernels : public testing::TestWithParam<Case> {
 protected:
  void expect_right(const Graph& open, const LoadedRegion& region, int64_t rows, int64_t columns,
                    ThreadTeam* threads, double rtol = 1e-4, double atol = 1e-5) {
    SCOPED_TRACE(fmt::format("{} rows, {} columns", rows, columns));
    const Result<Graph> fixed = graph_of(GetParam().text, std::to_string(rows), std::to_string(columns));
    const std::vector<Tensor> inputs = random_inputs(open, 10, rows, columns);
    const std::string names[] = {"rows", "columns"};
    const int64_t sizes[] = {rows, columns};
    const auto want = fixed ? run_reference(*fixed, inputs) : tl::unexpected(fixed.error());
    if (!want) {
      const std::vector<Shape> any(open.outputs.size(), Shape{rows});
      const auto got = region.run_guarded(inputs, true, any, threads, {names, sizes});
      ASSERT_FALSE(got) << want.error().message;
      EXPECT_EQ(got.error().message.find("want"), std::string::npos) << got.error().message;
      return;
    }
    std::vector<Shape> shapes;
    for (const Tensor& tensor : *want) shapes.push_back(tensor.shape());
    for (bool at_end : {true, false}) {
      const auto got = region.run_guarded(inputs, at_end, shapes, threads, {names, sizes});
      ASSERT_TRUE(got) << got.error().message;
      for (size_t i = 0; i < want->size(); ++i)
        EXPECT_EQ(compare((*got)[i].view(), (*want)[i].view(), rtol, atol), "") << "at end: " << at_end;
    }
  }
};

TEST_P(OpenKernels, AgreeWithReferenceAtAllSizes) {
  const Result<Graph> open = graph_of(GetParam().text, "rows", "columns");
  ASSERT_TRUE(open) << open.error().message;
  constexpr int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 13, 16, 17, 31, 33, 64, 65, 127, 130};
  for (const int threads : {1, 2}) {
    if (rounds() == 1 && form_of(GetParam().name) != threads - 1) continue;
    const auto region = LoadedRegion::make(*open, {threads, "native", {}}, {});
    ASSERT_TRUE(region) << region.error().message;
    TestTeam team(threads);
    std::mt19937 random(static_cast<uint32_t>(threads));
    for (size_t i = 0; i < std::size(sizes) * rounds(); ++i)
      expect_right(*open, **region, sizes[i % std::size(sizes)], sizes[random() % std::size(sizes)], &team);
  }
}

/// Checks products whose factors may be rounded to bf16, in tile registers where the processor has them.
TEST_P(OpenKernels, RoundFactorsWhereThatIsAllowed) {
  const std::string_view text = GetParam().text;
  const bool has_products =
      text.find("MatMul") != text.npos || text.find("Gemm") != text.npos || text.find("Conv") != text.npos;
  if (!has_products || (rounds() == 1 && form_of(GetParam().name) == 1)) return;
  const Result<Graph> open = graph_of(GetParam().text, "rows", "columns");
  ASSERT_TRUE(open) << open.error().message;
  const int threads = 1 + form_of(GetParam().name);
  CompileOptions options{threads, "native", {}};
  options.rounds_to = DType::bf16;
  const auto region = LoadedRegion::make(*open, options, {});
  ASSERT_TRUE(region) << region.error().message;
  TestTeam team(threads);
  for (const int64_t rows : {0, 1, 7, 16, 33, 130})
    for (const int64_t columns : {1, 17}) expect_right(*open, **region, rows, columns, &team, 0.05, 0.02);
}

TEST(OpenRecurrences, LengthsBeyondTheStepsAreAnError) {
  const Result<Graph> open = make_graph(R"(graph "g" opsets {"": 17}
input %x : f32[r,c,3]
input %lengths : i32[c]
input %w : f32[1,7,3]
input %wr : f32[1,7,7]
%y = RNN(%x, %w, %wr, _, %lengths) {hidden_size=7}
output %y
)");
  ASSERT_TRUE(open) << open.error().message;
  const auto region = LoadedRegion::make(*open, {1, "native", {}}, {});
  ASSERT_TRUE(region) << region.error().message;
  const auto run = [&](int32_t length) {
    Tensor lengths(DType::i32, {2});
    lengths.as<int32_t>()[0] = 1, lengths.as<int32_t>()[1] = length;
    return (*region)->run_guarded({random_tensor(DType::f32, {4, 2, 3}, 1), lengths}, true, {{4, 1, 2, 7}});
  };
  EXPECT_TRUE(run(0));
  EXPECT_TRUE(run(4));
  for (int32_t length : {-1, 5}) {
    const auto got = run(length);
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().message.find("is out of range 0 to 4"), std::string::npos) << got.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OpenKernels, testing::ValuesIn(open_cases),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(ProcessorCases, OpenKernels, testing::ValuesIn(open_processor_cases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace intarsia::test
