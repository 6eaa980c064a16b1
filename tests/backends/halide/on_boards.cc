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
#include "tests/backends/halide/quantized_cases.h"
#include "tests/support/halide_support.h"
#include "tests/support/region_on_board.h"
#include "tests/support/rounds.h"

namespace intarsia::test {
namespace {

/// Returns why a microcontroller cannot run the graph; empty if it can.
std::string refusal(const Graph& graph, const std::string& cpu) {
  const auto target = halide::make_target(resolve_cpu(cpu)->arch);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (const Support support = target->supports(graph, NodeId(n), {}); !support.yes) return support.because;
  return {};
}

/// Returns the boards on which a case runs: one, by its name, and all with more rounds.
std::vector<std::string> boards_of(std::string_view name) {
  if (rounds() > 1) return {boards.begin(), boards.end()};
  return {boards[std::hash<std::string_view>()(name) % boards.size()]};
}

/// Compiles the graph for a board, runs it there and returns its outputs.
Result<std::vector<Tensor>> outputs_on(const std::string& cpu, const Graph& graph,
                                       const std::vector<Tensor>& inputs) {
  const CompiledRegion region = TRY(halide::compile_region(graph, test_emitter(), {1, cpu}, {}));
  return TRY(run_on_board(cpu, graph, region, inputs)).outputs;
}

template <typename Case>
class OnBoards : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_boards()) GTEST_SKIP() << "no arm-none-eabi-gcc, newlib, qemu-system-arm or clang-19";
  }
};

class HalideOnBoards : public OnBoards<Case> {};

TEST_P(HalideOnBoards, AgreeWithReference) {
  const Result<Graph> graph = make_graph(std::string("graph \"case\" opsets {\"\": 18}\n") + GetParam().text);
  ASSERT_TRUE(graph) << graph.error().message;
  const std::vector<Tensor> inputs = random_inputs(*graph);
  const auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;
  for (const std::string& board : boards_of(GetParam().name)) {
    SCOPED_TRACE(board);
    if (const std::string because = refusal(*graph, board); !because.empty()) GTEST_SKIP() << because;
    const auto got = outputs_on(board, *graph, inputs);
    ASSERT_TRUE(got) << got.error().message;
    for (size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(compare((*got)[i].view(), (*want)[i].view()), "") << "output " << i;
  }
}

class QuantizedOnBoards : public OnBoards<QuantizedCase> {};

TEST_P(QuantizedOnBoards, AgreeWithReference) {
  std::mt19937 random(7);
  const auto graph = make_quantized(GetParam(), form_of(GetParam().name) == 0 ? "u8" : "i8", "i8", random);
  ASSERT_TRUE(graph) << graph.error().message;
  std::vector<Tensor> inputs = random_inputs(*graph);
  for (Tensor& input : inputs) fill_integers(input, random);
  const auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;
  for (const std::string& board : boards_of(GetParam().name)) {
    SCOPED_TRACE(board);
    const auto got = outputs_on(board, *graph, inputs);
    ASSERT_TRUE(got) << got.error().message;
    for (size_t i = 0; i < want->size(); ++i) expect_near((*got)[i], (*want)[i]);
  }
}

constexpr auto case_name = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Cases, HalideOnBoards, testing::ValuesIn(cases), case_name);
INSTANTIATE_TEST_SUITE_P(ProcessorCases, HalideOnBoards, testing::ValuesIn(processor_cases), case_name);
INSTANTIATE_TEST_SUITE_P(Cases, QuantizedOnBoards, testing::ValuesIn(quantized_cases), case_name);

}  // namespace
}  // namespace intarsia::test
