// Kernels of the halide backend, of every kind, on emulated boards with a Cortex-M4, M7 or M55, against the
// reference kernels: each on one of them, by its name, and on all with more rounds. Skipped where compiler or
// emulator are missing.
//
// Covers: backends/halide/build/ memory_file.cc thumb_code.cc
// src/base/code/ find_clang.cc run_program.cc
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "backends/halide/target.h"
#include "tests/backends/halide/cases.h"
#include "tests/support/halide_support.h"
#include "tests/support/region_on_board.h"
#include "tests/support/rounds.h"

namespace intarsia::test {
namespace {

constexpr std::array boards = {"cortex-m4", "cortex-m7", "cortex-m55"};

/// Returns why a microcontroller cannot run the graph; empty if it can.
std::string refusal(const Graph& graph, const std::string& cpu) {
  const auto target = halide::make_target(resolve_cpu(cpu)->arch);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (const Support support = target->supports(graph, NodeId(n), {}); !support.yes) return support.because;
  return {};
}

class HalideOnBoards : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_boards()) GTEST_SKIP() << "no arm-none-eabi-gcc, newlib, qemu-system-arm or clang-19";
  }
};

TEST_P(HalideOnBoards, AgreeWithReference) {
  const Result<Graph> graph = make_graph(std::string("graph \"case\" opsets {\"\": 18}\n") + GetParam().text);
  ASSERT_TRUE(graph) << graph.error().message;
  const std::vector<Tensor> inputs = random_inputs(*graph);
  const auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;
  const size_t chosen = std::hash<std::string_view>()(GetParam().name) % boards.size();
  for (size_t b = 0; b < boards.size(); ++b) {
    if (b != chosen && rounds() == 1) continue;
    SCOPED_TRACE(boards[b]);
    if (const std::string because = refusal(*graph, boards[b]); !because.empty()) GTEST_SKIP() << because;
    const auto region = halide::compile_region(*graph, test_emitter(), {1, boards[b]}, {});
    ASSERT_TRUE(region) << region.error().message;
    const auto run = run_on_board(boards[b], *graph, *region, inputs);
    ASSERT_TRUE(run) << run.error().message;
    for (size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(compare(run->outputs[i].view(), (*want)[i].view()), "") << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HalideOnBoards, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(ProcessorCases, HalideOnBoards, testing::ValuesIn(processor_cases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace intarsia::test
