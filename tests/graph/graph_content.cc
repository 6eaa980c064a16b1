// Content of a graph: it is equal under other names and in another graph; operators, attributes, types,
// sizes, wiring and small constants change it.
//
// Covers: src/graph/ graph_content.cc
#include "graph/graph_content.h"

#include <gtest/gtest.h>

#include "graph/parse_graph.h"

namespace intarsia {
namespace {

std::string content(const std::string& text) {
  const Result<Graph> graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message << text;
  return graph ? print_content(*graph) : "";
}

const std::string original = R"(graph "a" opsets {"": 18}
input %x : f32[2,3]
const %axes : i64[1] = {1}
%s : f32[2,1] = ReduceSum(%x, %axes) {keepdims=1} "sum"
%y : f32[2,3] = Div(%x, %s) "div"
output %y
)";

TEST(GraphContent, HasNoNames) {
  EXPECT_EQ(content(original), content(R"(graph "b" opsets {"": 18, "other": 2}
const %dims : i64[1] = {1}
input %pixels : f32[2,3]
%total : f32[2,1] = ReduceSum(%pixels, %dims) {keepdims=1} "first"
%share : f32[2,3] = Div(%pixels, %total)
output %share
)"));
}

TEST(GraphContent, HasAllThatDecidesWhatRuns) {
  const std::pair<const char*, const char*> changes[] = {{"keepdims=1", "keepdims=0"},
                                                         {"f32[2,3]", "f32[2,4]"},
                                                         {"= {1}", "= {0}"},
                                                         {"f32", "f64"},
                                                         {"ReduceSum(", "ReduceMax("},
                                                         {"ReduceSum(", "other::ReduceSum.1("},
                                                         {"(%x, %s)", "(%s, %x)"},
                                                         {"\"\": 18", "\"\": 17"},
                                                         {"output %y", "output %y\noutput %s"}};
  for (const auto& [from, to] : changes) {
    std::string other = original;
    for (size_t at = 0; (at = other.find(from, at)) != std::string::npos; at += std::string(to).size())
      other.replace(at, std::string(from).size(), to);
    EXPECT_NE(content(other), content(original)) << to;
  }
}

/// Returns a graph with a constant of `elements` of this type, all of which are `number`.
std::string with_constant(const std::string& dtype, int elements, int number) {
  std::string list;
  for (int i = 0; i < elements; ++i) list += (i == 0 ? "" : ", ") + std::to_string(number);
  const std::string type = dtype + "[" + std::to_string(elements) + "]";
  return "graph \"c\" opsets {\"\": 18}\ninput %x : " + type + "\nconst %w : " + type + " = {" + list +
         "}\n%y : " + type + " = Add(%x, %w)\noutput %y\n";
}

TEST(GraphContent, HasNoWeights) {
  EXPECT_EQ(content(with_constant("f32", 65, 1)), content(with_constant("f32", 65, 2)));
  EXPECT_NE(content(with_constant("f32", 65, 1)), content(with_constant("f32", 66, 1)));
  EXPECT_NE(content(with_constant("f32", 64, 1)), content(with_constant("f32", 64, 2)));
  EXPECT_NE(content(with_constant("i64", 65, 1)), content(with_constant("i64", 65, 2)));
}

}  // namespace
}  // namespace intarsia
