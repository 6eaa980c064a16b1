// Contents of kernel notes: nodes, operations, bytes, algorithm.
//
// Covers: backends/halide/schedule/ describe_kernels.cc
#include "backends/halide/schedule/describe_kernels.h"

#include <gtest/gtest.h>

#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

using Names = std::vector<std::string>;

std::vector<KernelNote> notes_of(const std::string& body, int threads = 1) {
  const Result<Graph> graph = make_graph("graph \"case\" opsets {\"\": 18}\n" + body);
  EXPECT_TRUE(graph) << graph.error().message;
  if (!graph) return {};
  const auto region = halide::compile_region(*graph, test_emitter(), {.threads = threads}, {});
  EXPECT_TRUE(region) << region.error().message;
  return region ? region->notes : std::vector<KernelNote>();
}

/// Checks that transforming and packing the weights changes neither the operations nor the shape.
TEST(DescribeKernels, AConvolutionByWinograd) {
  const std::vector<KernelNote> notes = notes_of(R"(
input %x : f32[1,64,28,28]
input %w : f32[64,64,3,3]
%c = Conv(%x, %w) {pads=[1,1,1,1]} "conv"
%y = Relu(%c) "relu"
output %y)",
                                                 2);
  ASSERT_FALSE(notes.empty());
  const auto conv = std::ranges::find_if(notes, [](const auto& note) { return note.operations > 0; });
  ASSERT_NE(conv, notes.end());
  EXPECT_EQ(conv->nodes, (Names{"conv", "relu"}));
  EXPECT_EQ(conv->operations, 2u * (64 * 28 * 28) * (64 * 3 * 3));
  EXPECT_EQ(conv->shape, (Shape{1, 64, 28, 28}));
  EXPECT_EQ(conv->weights, (Shape{64, 64, 3, 3}));
  EXPECT_TRUE(conv->algorithm.starts_with("winograd")) << conv->algorithm;
  EXPECT_NE(conv->algorithm.find("threads by"), std::string::npos) << conv->algorithm;
}

TEST(DescribeKernels, AnAttentionHasTwoProducts) {
  const std::vector<KernelNote> notes = notes_of(R"(
input %q : f32[2,32,16]
input %k : f32[2,16,40]
input %v : f32[2,40,24]
%s = MatMul(%q, %k) "scores"
%p = Softmax(%s) {axis=-1} "softmax"
%y = MatMul(%p, %v) "product"
output %y)");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].nodes, (Names{"product", "scores", "softmax"}));
  EXPECT_EQ(notes[0].operations, 2u * (2 * 32 * 40) * 16 + 2u * (2 * 32 * 24) * 40);
  EXPECT_TRUE(notes[0].algorithm.starts_with("attention"));
}

/// Checks the count of operations, which leaves out units that only fill up a vector.
TEST(DescribeKernels, ARecurrenceCountsAllSteps) {
  uint64_t operations = 0;
  for (const KernelNote& note : notes_of(R"(
input %x : f32[5,1,16]
input %w : f32[1,20,16]
input %w_small : f32[1,20,20]
%y = RNN(%x, %w, %w_small) {hidden_size=20} "rnn"
output %y)")) {
    if (note.algorithm.starts_with("recurrence")) operations += note.operations;
  }
  EXPECT_EQ(operations, 2u * 5 * (20 * 20));
}

TEST(DescribeKernels, AGatherReadsWhatItPicks) {
  const std::vector<KernelNote> notes = notes_of(R"(
input %x : f32[1000,16]
input %i : i64[3]
%y = Gather(%x, %i) "gather"
output %y)");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].operations, 0u);
  EXPECT_EQ(notes[0].bytes, 4u * (3 * 16) * 2 + 8u * 3);
}

}  // namespace
}  // namespace intarsia::test
