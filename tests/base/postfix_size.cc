// Expressions of sizes in postfix order: they have the values of the sizes, and damaged ones are refused.
//
// Covers: src/base/ postfix_size.cc
#include "base/postfix_size.h"

#include <gtest/gtest.h>

namespace intarsia {
namespace {

const Dim b = Dim::named("b"), s = Dim::named("s");

int64_t number_of(const std::string& symbol) { return symbol == "b" ? 0 : 1; }
std::string name_of(int64_t symbol) { return symbol == 0 ? "b" : "s"; }

TEST(PostfixSize, HasTheValueOfTheSize) {
  const std::vector<Dim> sizes{
      7, b, 2 * s + 1, b * s - 3, floor_div(s - 4, 2), larger_of(s - 5, 0), smaller_of(b, s) * 3};
  for (int64_t rows : {0, 1, 3, 8}) {
    const int64_t symbols[] = {5, rows};
    for (const Dim& size : sizes) {
      const int64_t want = size.substitute({{"b", 5}, {"s", rows}}).number();
      EXPECT_EQ(evaluate_postfix(to_postfix(size, number_of).view(), symbols), want) << size.print() << rows;
      EXPECT_EQ(to_dim(to_postfix(size, number_of).view(), name_of), size) << size.print();
    }
  }
}

TEST(PostfixSize, ErrorsSayWhatIsTooLarge) {
  const PostfixSize product = to_postfix(b * s, number_of), quotient = to_postfix(floor_div(b, s), number_of);
  const int64_t large[] = {int64_t{1} << 40, int64_t{1} << 40}, some[] = {70, 30}, none[] = {3, 0};
  EXPECT_EQ(evaluate_postfix(product.view(), large).error().message, "more than 64 bits");
  EXPECT_EQ(evaluate_postfix(product.view(), some, 2000).error().message, "2100 is more than 2000");
  EXPECT_EQ(evaluate_postfix(quotient.view(), none).error().message, "a division by 0");
}

TEST(PostfixSize, DamagedOnesAreRefused) {
  constexpr uint8_t number = 0, symbol = 1, add = 2;
  const PostfixSize damaged[] = {{},
                                 {{number}, {}},
                                 {{number, number}, {1, 2}},
                                 {{add}, {}},
                                 {{number, add}, {1}},
                                 {{symbol}, {2}},
                                 {{symbol}, {-1}},
                                 {{9}, {}},
                                 {{number}, {1, 2}},
                                 {std::vector<uint8_t>(65, number), std::vector<int64_t>(65, 1)},
                                 {{number}, {max_size_value + 1}}};
  for (const PostfixSize& size : damaged) EXPECT_FALSE(verify_postfix(size.view(), 2));
  EXPECT_TRUE(verify_postfix(to_postfix(2 * b * s + 1, number_of).view(), 2));
}

}  // namespace
}  // namespace intarsia
