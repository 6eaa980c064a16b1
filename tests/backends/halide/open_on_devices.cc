// Kernels whose sizes are known when they run, of every kind, on the first OpenCL and the first CUDA device
// of the machine, each against the reference kernels, with values at odd elements of the device's memory.
// Skipped where there is neither.
//
// Covers: backends/halide/build/ build_pointwise.cc build_recurrence.cc build_reduction.cc build_scan.cc
// run_tiles.cc schedule_contraction.cc
// backends/halide/runtime/ load_open_region.cc open_region.cc region_executable.cc
#include <gtest/gtest.h>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/core/core_ops.h"
#include "backends/halide/target.h"
#include "tests/backends/halide/device_runners.h"
#include "tests/backends/halide/open_cases.h"
#include "tests/support/rounds.h"

namespace intarsia::test {
namespace {

class OpenKernelsOnDevices : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (runners_.empty()) GTEST_SKIP() << "no OpenCL and no CUDA device";
  }

  void expect_right(const Graph& open, const LoadedRegion& region, int64_t rows, int64_t columns) {
    SCOPED_TRACE(fmt::format("{} rows, {} columns", rows, columns));
    const Result<Graph> fixed = graph_of(GetParam().text, std::to_string(rows), std::to_string(columns));
    const std::vector<Tensor> inputs = random_inputs(open, 10, rows, columns);
    const auto want = fixed ? run_reference(*fixed, inputs) : tl::unexpected(fixed.error());
    std::vector<Shape> shapes(open.outputs.size(), Shape{rows});
    for (size_t i = 0; want && i < want->size(); ++i) shapes[i] = (*want)[i].shape();
    const std::string names[] = {"rows", "columns"};
    const int64_t numbers[] = {rows, columns};
    const auto got = region.run_on_device(inputs, shapes, {names, numbers});
    ASSERT_EQ(got.has_value(), want.has_value()) << (got ? want.error() : got.error()).message;
    for (size_t i = 0; want && i < want->size(); ++i)
      EXPECT_EQ(compare((*got)[i].view(), (*want)[i].view()), "") << "output " << i;
  }

  const std::vector<Runner> runners_ = find_runners(GetParam().name);
};

TEST_P(OpenKernelsOnDevices, AgreeWithReferenceAtAllSizes) {
  const Result<Graph> open = graph_of(GetParam().text, "rows", "columns");
  ASSERT_TRUE(open) << open.error().message;
  Graph of_program = *open;
  of_program.open_sizes = {{"rows", {}}, {"columns", {}}};
  const auto target = halide::make_target();
  for (size_t n = 0; n < open->nodes.size(); ++n) {
    const Support support =
        target->supports(of_program, NodeId(n), {"opencl", "opencl:0", {.has_f64 = true}});
    ASSERT_TRUE(support.yes) << support.because;
  }
  const auto canonical = halide::canonicalize(*open);
  ASSERT_TRUE(canonical) << canonical.error().message;
  const bool wants_f64 = halide::computes_in_f64(*canonical);
  constexpr int64_t sizes[] = {0, 1, 2, 7, 8, 33, 65, 130};
  for (const Runner& runner : runners_) {
    SCOPED_TRACE(describe(runner));
    if (wants_f64 && !device_features(runner.name).has_f64) continue;
    const auto region = LoadedRegion::make(*open, {1, "native", {}}, {}, runner.device, runner.kernels);
    ASSERT_TRUE(region) << region.error().message;
    std::mt19937 random(1);
    for (size_t i = 0; i < std::size(sizes) * rounds(); ++i)
      expect_right(*open, **region, sizes[i % std::size(sizes)], sizes[random() % std::size(sizes)]);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OpenKernelsOnDevices, testing::ValuesIn(open_cases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace intarsia::test
