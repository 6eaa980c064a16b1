// Canonical graphs whose sizes are not numbers yet, up to the kernels: layouts, fusion and the arguments of
// kernels are expressions over the symbols. Code is generated for numbers.
//
// Covers: backends/halide/layout/ choose_layouts.cc
// backends/halide/fuse/ fuse.cc
// backends/halide/schedule/ coalesce.cc kernel.cc typical_sizes.cc
#include <gtest/gtest.h>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/schedule/coalesce.h"
#include "graph/parse_graph.h"
#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

const Dim b = Dim::named("b"), s = Dim::named("s");

/// Returns the arguments of each kernel as "inputs -> output".
std::vector<std::string> arguments_of(const std::string& text) {
  const Result<Graph> graph = parse_graph("graph \"g\" opsets {\"\": 0}\n" + text);
  INTARSIA_CHECK(graph.has_value());
  const halide::Layouts layouts = halide::choose_layouts(*graph);
  std::vector<std::string> lines;
  for (const halide::Call& call :
       halide::make_kernels(layouts, halide::fuse(layouts), *halide::make_isa("x86-64-v3"), 1)) {
    std::map<std::string, Dim> names;
    for (size_t i = 0; i < call.symbols.size(); ++i)
      names[halide::symbol_name(i)] = Dim::named(call.symbols[i]);
    const auto print = [&](halide::Argument argument) {
      for (SymbolicShape* sizes : {&argument.shape, &argument.strides})
        for (Dim& size : *sizes) size = size.substitute(names);
      return print_shape(argument.shape) + ":" + print_shape(argument.strides);
    };
    std::string line;
    for (const halide::Argument& input : call.kernel.inputs) line += print(input) + " ";
    lines.push_back(line + "-> " + print(call.kernel.output));
  }
  return lines;
}

/// Returns the typical sizes of a graph with these open sizes.
halide::TypicalSizes typical_of(const std::string& inputs, std::vector<OpenSize> open_sizes) {
  Result<Graph> graph = parse_graph("graph \"g\" opsets {\"\": 0}\n" + inputs + "output %x\n");
  INTARSIA_CHECK(graph.has_value());
  graph->open_sizes = std::move(open_sizes);
  return halide::typical_sizes(*graph);
}

TEST(HalideOpenSizes, SchedulesAreChosenForOneItemOfTypicalLength) {
  using Typical = halide::TypicalSizes;
  EXPECT_EQ(typical_of("input %x : f32[Batch_size,s]\n", {{"s", {}}, {"Batch_size", {}}}),
            (Typical{{"Batch_size", 1}, {"s", 128}}));
  EXPECT_EQ(typical_of("input %x : f32[p,4,q]\ninput %y : f32[p,q]\n", {{"q", {}}, {"p", {}}}),
            (Typical{{"p", 1}, {"q", 128}}))
      << "the first axis counts items";
  EXPECT_EQ(typical_of("input %x : f32[4,q]\ninput %y : f32[4,p]\n", {{"q", {}}, {"p", {}}}),
            (Typical{{"p", 128}, {"q", 128}}));
  EXPECT_EQ(typical_of("input %x : f32[batch,4]\n", {{"batch", {}}}), (Typical{{"batch", 128}}))
      << "the only open size is what kernels have many of";
  EXPECT_EQ(typical_of("input %x : f32[b,s,h]\n", {{"b", {}, {2, 8}}, {"s", {1, 77}}, {"h", {200, 300}}}),
            (Typical{{"b", 8}, {"s", 77}, {"h", 200}}))
      << "sizes to be fastest at, else the nearest of the range";
}

TEST(HalideOpenSizes, DenseAxesMergeToTheirProduct) {
  EXPECT_EQ(arguments_of(R"(
input %x : f32[b,s,768]
input %bias : f32[768]
%t : f32[b,s,768] = Add(%x, %bias)
%u : f32[b,s,768] = Relu(%t)
%v : f32[b,s,768] = Mul(%x, %u)
output %v
)"),
            std::vector<std::string>{"[b*s,768]:[768,1] [1,768]:[0,1] -> [b*s,768]:[768,1]"});
  EXPECT_EQ(arguments_of(R"(
input %x : f32[b,2*s+1]
%y : f32[b,2*s+1] = Relu(%x)
output %y
)"),
            std::vector<std::string>{"[2*b*s+b]:[1] -> [2*b*s+b]:[1]"});
}

TEST(HalideOpenSizes, ViewsNeedNoKernel) {
  EXPECT_EQ(arguments_of(R"(
input %q : f32[b,s,768]
input %k : f32[b,s,768]
%heads : f32[b,s,12,64] = Reshape(%q)
%rows : f32[b,12,s,64] = Transpose(%heads) {perm=[0,2,1,3]}
%others : f32[b,s,12,64] = Reshape(%k)
%columns : f32[b,12,64,s] = Transpose(%others) {perm=[0,2,3,1]}
%y : f32[b,12,s,s] = MatMul(%rows, %columns)
output %y
)"),
            std::vector<std::string>{"[b,12,s,64]:[768*s,64,768,1] [b,12,64,s]:[768*s,64,1,768] -> "
                                     "[b,12,s,s]:[12*s*s,s*s,s,1]"});
}

TEST(HalideOpenSizes, PartsOfAConcatLieWhereThePartsBeforeEnd) {
  const Result<Graph> graph = parse_graph(R"(graph "g" opsets {"": 0}
input %x : f32[s,4]
input %y : f32[b,4]
%t : f32[s,4] = Relu(%x)
%u : f32[b,4] = Relu(%y)
%z : f32[s+b,4] = Concat(%t, %u) {axis=0}
output %z
)");
  ASSERT_TRUE(graph) << graph.error().message;
  const halide::Layouts layouts = halide::choose_layouts(*graph);
  EXPECT_EQ(layouts.storage[index(graph->node(NodeId{1}).outputs[0])].offset, 4 * s);
}

TEST(HalideOpenSizes, ReshapesThatMayMoveElementsAreNotViews) {
  const SymbolicShape dense{s * 768, 768, 1}, swapped{1, b};
  EXPECT_EQ(halide::reshape_strides({b, s, 768}, dense, {b * s, 768}), (SymbolicShape{768, 1}));
  EXPECT_EQ(halide::reshape_strides({b, s, 768}, dense, {b, s, 12, 64}),
            (SymbolicShape{s * 768, 768, 64, 1}));
  EXPECT_EQ(halide::reshape_strides({b, s}, swapped, {b * s}), std::nullopt);
  EXPECT_EQ(halide::reshape_strides({b, s}, {s, 1}, {s, b}), (SymbolicShape{b, 1}));
  EXPECT_EQ(halide::reshape_strides({b, s}, {s, 1}, {s + 1, b}), std::nullopt);
}

TEST(HalideOpenSizes, StridesAreInTheOrderOfAllSizesFromOne) {
  EXPECT_EQ(halide::storage_order({768, 1, 768 * s}), (std::vector<size_t>{2, 0, 1}));
  EXPECT_EQ(halide::storage_order({1, s, b * s}), (std::vector<size_t>{2, 1, 0}));
  EXPECT_EQ(halide::storage_order({b, s}), (std::vector<size_t>{0, 1}));  // unknown order
}

TEST(HalideOpenSizes, NodesWhoseSizesMayNotFitAreRefused) {
  const struct {
    const char* nodes;
    const char* why;
  } cases[] = {
      {R"(input %x : f32[s,4]
input %y : f32[b,4]
%z = Add(%x, %y))",
       "sizes must be known"},
      {R"(input %x : f32[s,4]
input %y : f32[3,4]
%z = Add(%x, %y))",
       "whether the sizes fit is not known"},
      {R"(input %x : f32[s,4]
input %i : i64[b,4]
%z = GatherElements(%x, %i) {axis=1})",
       "GatherElements to [b,4]: whether the sizes fit is not known"},
      {R"(input %x : f32[s]
input %slope : f32[2,s]
%z = PRelu(%x, %slope))",
       "PRelu: [2,s] does not"},
  };
  for (const auto& [nodes, why] : cases) {
    const Result<Graph> graph =
        make_graph(std::string("graph \"g\" opsets {\"\": 17}\n") + nodes + "\noutput %z\n");
    ASSERT_TRUE(graph) << graph.error().message;
    const Result<Graph> canonical = halide::canonicalize(*graph);
    ASSERT_FALSE(canonical) << nodes;
    EXPECT_NE(canonical.error().message.find(why), std::string::npos) << canonical.error().message;
  }
}

TEST(HalideOpenSizes, WhatNodesAskOfSizesIsKeptForRuns) {
  const struct {
    const char* nodes;
    const char* nonnegative;
    const char* why;
  } cases[] = {
      {R"(input %x : f32[2,3,s]
%z = MaxPool(%x) {kernel_shape=[4], pads=[1,1]})",
       "s-2", "MaxPool: a window of 4 does not fit into axis 2"},
      {R"(input %x : f32[s]
const %pads : i64[2] = {1, 1}
%z = Pad(%x, %pads) {mode="reflect"})",
       "s-1", "Pad: axis 0 has too few elements"},
      {R"(input %x : f32[2,3,s]
%z = GlobalMaxPool(%x))",
       "s-1", "GlobalMaxPool: axis 2 is empty"},
  };
  for (const auto& [nodes, nonnegative, why] : cases) {
    const Result<Graph> graph =
        make_graph(std::string("graph \"g\" opsets {\"\": 17}\n") + nodes + "\noutput %z\n");
    ASSERT_TRUE(graph) << graph.error().message;
    std::vector<halide::SizeRequirement> requirements;
    const Result<Graph> canonical = halide::canonicalize(*graph, &requirements);
    ASSERT_TRUE(canonical) << canonical.error().message;
    ASSERT_EQ(requirements.size(), 1u) << nodes;
    EXPECT_EQ(requirements[0].nonnegative.print(), nonnegative);
    EXPECT_EQ(requirements[0].why, why);
  }
}

}  // namespace
}  // namespace intarsia::test
