// What open sizes count: items, sides of pictures, lengths of signals.
//
// Covers: src/graph/ size_roles.cc
#include "graph/size_roles.h"

#include <gtest/gtest.h>

#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

using Usual = std::map<std::string, int64_t>;

/// Returns the usual sizes of a graph whose inputs' sizes named "batch", "h", "w", "t" and "n" are open.
Usual usual_of(const std::string& nodes) {
  Result<Graph> graph = make_graph("graph \"g\" opsets {\"\": 17}\n" + nodes + "\noutput %y\n");
  INTARSIA_CHECK(graph);
  return usual_sizes(*graph);
}

TEST(UsualSizes, SidesOfPicturesAndNothingElse) {
  EXPECT_EQ(usual_of(R"(input %x : f32[batch,8,h,w]
input %s : f32[n,4]
%y = Relu(%x)
%z = MaxPool(%x) {kernel_shape=[2,2]})"),
            (Usual{{"h", 224}, {"w", 224}}));
  EXPECT_EQ(usual_of(R"(input %x : f32[1,12,n,64]
%y = Relu(%x))"),
            Usual{});
}

TEST(UsualSizes, SignalsAreAsLongAsTheirConvolutionsNeed) {
  EXPECT_EQ(usual_of(R"(input %x : f32[batch,8,t]
%y = MaxPool(%x) {kernel_shape=[2]})"),
            (Usual{{"t", 128}}));
  EXPECT_EQ(usual_of(R"(input %x : f32[batch,8,t]
%a = MaxPool(%x) {kernel_shape=[2], strides=[4]}
%b = MaxPool(%a) {kernel_shape=[2], strides=[4]}
%y = MaxPool(%b) {kernel_shape=[2], strides=[4]})"),
            (Usual{{"t", 2048}}));
}

}  // namespace
}  // namespace intarsia::test
