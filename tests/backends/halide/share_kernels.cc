// Kernels that differ only in numbers: a few stay apart, more become one that reads the numbers that differ;
// for microcontrollers two are enough.
//
// Covers: backends/halide/schedule/ share_kernels.cc
#include <gtest/gtest.h>

#include "base/code/find_clang.h"
#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

/// Returns products in a row, each times a number of its own and plus one that all have.
Graph products(int count) {
  std::string text = "graph \"g\" opsets {\"\": 17}\ninput %x0 : f32[7,12]\nconst %bias : f32[] = {0.5}\n";
  for (int i = 0; i < count; ++i)
    text += fmt::format(
        "input %w{0} : f32[12,12]\nconst %scale{0} : f32[] = {{{2}.25}}\n%t{0} = MatMul(%x{0}, %w{0})\n"
        "%s{0} = Mul(%t{0}, %scale{0})\n%x{1} = Add(%s{0}, %bias)\n",
        i, i + 1, i);
  return make_graph(text + fmt::format("output %x{}", count)).value();
}

struct Made {
  int kernels;
  size_t constants;
  bool operator==(const Made&) const = default;
};

Made make(int count, const char* cpu) {
  const auto region = halide::compile_region(products(count), test_emitter(), {1, cpu}, {});
  EXPECT_TRUE(region) << region.error().message;
  return {region->kernels, region->constants.size()};
}

TEST(ShareKernels, FewStayApart) { EXPECT_EQ(make(4, "native"), (Made{4, 4})); }

TEST(ShareKernels, ManyBecomeOneThatReadsWhatDiffers) { EXPECT_EQ(make(5, "native"), (Made{1, 5 + 5})); }

TEST(ShareKernels, TwoBecomeOneForMicrocontrollers) {
  if (!find_clang("tests")) GTEST_SKIP() << "no clang-19";
  EXPECT_EQ(make(2, "cortex-m4"), (Made{1, 2 + 2}));
}

TEST(ShareKernels, SharedOnesReadTheirNumbers) {
  const Graph graph = products(5);
  const auto region = LoadedRegion::make(graph, {}, {});
  ASSERT_TRUE(region) << region.error().message;
  const std::vector<Tensor> inputs = random_inputs(graph);
  const auto got = (*region)->run(inputs, nullptr);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(compare((*got)[0].view(), run_reference(graph, inputs).value()[0].view()), "");
}

}  // namespace
}  // namespace intarsia::test
