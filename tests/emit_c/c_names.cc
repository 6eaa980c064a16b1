// Covers: src/emit_c/ c_names.cc c_text.cc
#include "emit_c/c_names.h"

#include <gtest/gtest.h>

#include "emit_c/c_text.h"

namespace intarsia {
namespace {

TEST(CNames, BecomeIdentifiers) {
  EXPECT_EQ(to_identifier("image:0"), "image_0");
  EXPECT_EQ(to_identifier("a b/c-d.e"), "a_b_c_d_e");
  EXPECT_EQ(to_identifier("0"), "v0");
  EXPECT_EQ(to_identifier("_x"), "v_x");
  EXPECT_EQ(to_identifier(""), "v");
  EXPECT_EQ(to_identifier("größe"), "gr____e");
}

TEST(CNames, CollideInOneScope) {
  const GivenNames given{{"a_b", "other"}};
  CScope scope(given);
  EXPECT_EQ(*scope.add("input", "a.b"), "a_b");
  EXPECT_EQ(*scope.add("input", "a_b"), "other");
  EXPECT_EQ(scope.add("output", "a:b").error().message,
            "'a.b' and output 'a:b' are both a_b in C: give one another name with --c-name 'a:b=NAME'");
  EXPECT_EQ(scope.add("input", "register").error().message,
            "input 'register' is a keyword of C or C++: give it another name with --c-name 'register=NAME'");
}

TEST(CNames, GivenOnesAreChecked) {
  EXPECT_TRUE(check_given_names({{"x:0", "x"}, {"y", "Y_1"}}));
  for (const char* identifier : {"", "1x", "_x", "a-b", "while", "class"})
    EXPECT_FALSE(check_given_names({{"x", identifier}})) << identifier;
}

TEST(CText, SizesAreExpressions) {
  const std::map<std::string, std::string> names{{"n", "n_n"}};
  const Dim n = Dim::named("n");
  EXPECT_EQ(c_expression(Dim(7), names), "7");
  EXPECT_EQ(c_expression(Dim(int64_t{1} << 40), names), "1099511627776LL");
  EXPECT_EQ(c_expression(Dim(-3), names), "(-3)");
  EXPECT_EQ(c_expression(2 * n + 1, names), "((2 * n_n) + 1)");
  EXPECT_EQ(c_expression(floor_div(n, 2), names), "intarsia_floor_div(n_n, 2)");
}

TEST(CText, CommentsStayComments) {
  EXPECT_EQ(c_comment("a*/b/*c"), "a* /b/ *c");
  EXPECT_EQ(c_comment("two\nlines\\"), "two lines ");
}

}  // namespace
}  // namespace intarsia
