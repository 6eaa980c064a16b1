// Shapes as users ask for them.
//
// Covers: src/base/ requested_shape.cc
#include "base/requested_shape.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace intarsia::test {
namespace {

std::string print(const std::string& text) {
  const Result<RequestedShape> shape = parse_requested_shape(text);
  if (!shape) return shape.error().message;
  std::string printed;
  for (const RequestedSize& size : shape->sizes) {
    printed += printed.empty() ? "" : " ";
    if (size.number) printed += std::to_string(*size.number);
    if (!size.number) printed += size.name.empty() ? "open" : size.name;
    if (size.range) printed += fmt::format(" {} to {}", size.range->min, size.range->max);
    if (!size.tuned.empty()) printed += fmt::format(" at {}", fmt::join(size.tuned, ","));
  }
  return printed;
}

TEST(RequestedShape, SizesAreNumbersOrOpen) {
  EXPECT_EQ(print("1x3x224x224"), "1 3 224 224");
  EXPECT_EQ(print("Nx3x?x0"), "N 3 open 0");
  EXPECT_EQ(print("batch_1xseq"), "batch_1 seq");
  EXPECT_EQ(print("1..32x3"), "open 1 to 32 3");
  EXPECT_EQ(print("1,8,32x3"), "open at 1,8,32 3");
  EXPECT_EQ(print("1..32:1,8x3"), "open 1 to 32 at 1,8 3");
  EXPECT_EQ(print("0..0"), "open 0 to 0");
  EXPECT_EQ(print("scalar"), "");
}

TEST(RequestedShape, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(print("32..1x3"), "'32..1' is a range with its ends swapped; want 1..32");
  EXPECT_EQ(print("1..x3"), "'1..' is not a range; want two sizes, as in 1..32");
  EXPECT_EQ(print("..4"), "'..4' is not a range; want two sizes, as in 1..32");
  EXPECT_EQ(print("1..3000000000"), "'1..3000000000' ends beyond 1000000000, the largest size");
  EXPECT_EQ(print("1..4:8"), "size 8 of the list '8' is not in 1..4");
  EXPECT_EQ(print("1..4:"), "'' is not a list of sizes, as 1,8,32 is");
  EXPECT_EQ(print("1,,8"), "'1,,8' is not a list of sizes, as 1,8,32 is");
  for (const char* text :
       {"1x-3", "1xx3", "x", "1x3x", "9N", "1..2:3:4", "99999999999999999999", "N-1", "\x80"})
    EXPECT_TRUE(print(text).contains("is not a shape; want sizes joined by x, as in 1x224x224x3")) << text;
}

}  // namespace
}  // namespace intarsia::test
