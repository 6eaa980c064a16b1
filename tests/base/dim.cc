// Sizes as expressions: their canonical form agrees with direct evaluation, and reads back from its text.
//
// Covers: src/base/ dim.cc src/graph/ parse_dim.cc
#include "base/dim.h"

#include <gtest/gtest.h>

#include <random>

#include "graph/parse_dim.h"
#include "tests/support/rounds.h"

namespace intarsia {
namespace {

std::string text(const Dim& dim) { return dim.print(std::identity()); }

Dim read(std::string_view text) {
  TextScanner scanner(text);
  Result<Dim> dim = parse_dim(scanner);
  EXPECT_TRUE(dim && scanner.at_end()) << text;
  return dim.value_or(Dim::unknown());
}

TEST(Dim, EqualExpressionsHaveOneForm) {
  const Dim b = Dim::named("b"), s = Dim::named("s");
  EXPECT_EQ(text(s * b * 2 + 1 + b * s), "3*b*s+1");
  EXPECT_EQ((b + 1) * (b - 1), b * b - 1);
  EXPECT_EQ(b - b, 0);
  EXPECT_EQ(floor_div(6 * b + 4, 3), 2 * b + 1);
  EXPECT_EQ(text(floor_div(b + 7, 3)), "floor_div(b+1,3)+2");
  EXPECT_EQ(text(floor_div(b - 1, 2)), "floor_div(b+1,2)-1");
  EXPECT_EQ(floor_div(12 * b * s, 4 * b), 3 * s);
  EXPECT_EQ(text(floor_div(b * s * 6, b * 4)), "floor_div(3*s,2)");
  EXPECT_EQ(floor_div(b + s, b + s), 1);
  EXPECT_EQ(larger_of(b + 1, 0), b + 1);
  EXPECT_EQ(text(larger_of(b - 1, 0)), "max(0,b-1)");
  EXPECT_EQ(smaller_of(b, b + s), b);
  EXPECT_EQ(smaller_of(b, s), smaller_of(s, b));
  EXPECT_EQ(ceil_div(7, 2), 4);
}

TEST(Dim, WhatIsNotKnownStaysUnknown) {
  const Dim b = Dim::named("b"), unknown;
  EXPECT_EQ(text(unknown), "?");
  EXPECT_FALSE((b + unknown).is_known());
  EXPECT_EQ(0 * unknown, 0);
  EXPECT_FALSE(provably_equal(unknown, unknown));
  EXPECT_FALSE(floor_div(b, 0).is_known());
  EXPECT_FALSE((Dim(std::numeric_limits<int64_t>::max()) + 1).is_known());
  EXPECT_FALSE(floor_div(b, Dim(0) - b).is_known());
  EXPECT_FALSE((Dim(std::numeric_limits<int64_t>::min()) * b).is_known());
  EXPECT_FALSE((b * std::numeric_limits<int64_t>::max() * 2).is_known());
}

TEST(Dim, GrowthEnds) {
  Dim deep = Dim::named("b"), wide = 0, high = 1;
  for (int i = 0; i < 200; ++i) {
    deep = floor_div(deep + 1, 7);
    wide = wide + Dim::named(std::to_string(i));
    high = high * Dim::named("b");
  }
  EXPECT_FALSE(deep.is_known());
  EXPECT_FALSE(wide.is_known());
  EXPECT_FALSE(high.is_known());
}

TEST(Dim, ProductsOfManyTermsEndSoon) {
  Dim wide = 0;
  for (int i = 0; i < 60; ++i) wide = wide + Dim::named(std::to_string(i));
  ASSERT_TRUE(wide.is_known());
  EXPECT_FALSE((wide * wide).is_known());
}

TEST(Dim, OrderOfSizes) {
  const Dim b = Dim::named("b"), s = Dim::named("s");
  EXPECT_TRUE(usually_greater(3, 2));
  EXPECT_FALSE(usually_greater(3, 3));
  EXPECT_TRUE(usually_greater(b * s, s));
  EXPECT_FALSE(usually_greater(s, b * s));
  EXPECT_TRUE(usually_greater(b + 1, b));
  EXPECT_FALSE(usually_greater(b, b));
  EXPECT_FALSE(usually_greater(b, s));
  EXPECT_TRUE(usually_greater(b, 2));
  EXPECT_TRUE(usually_greater(32 * floor_div(b, 2), 32)) << "not if b is 1, but a tensor is empty then";
  EXPECT_TRUE(usually_greater(32 * floor_div(b, 4) * floor_div(s, 4), 32 * floor_div(s, 4)));
  EXPECT_FALSE(usually_greater(Dim::unknown(), 0));
}

TEST(Dim, SymbolsAreReplaced) {
  const Dim size = floor_div(Dim::named("h") + 1, 2) * Dim::named("w");
  EXPECT_EQ(size.symbols(), (std::set<std::string>{"h", "w"}));
  EXPECT_EQ(text(size.substitute({{"h", 7}})), "4*w");
  EXPECT_EQ(size.substitute({{"h", 7}, {"w", 3}}), 12);
  EXPECT_FALSE(floor_div(8, Dim::named("w")).substitute({{"w", 0}}).is_known());
}

Dim of_postfix(const std::vector<SizePart>& parts) {
  using Kind = SizePart::Kind;
  std::vector<Dim> stack;
  for (const SizePart& part : parts) {
    if (part.kind == Kind::number) stack.emplace_back(part.number);
    if (part.kind == Kind::symbol) stack.push_back(Dim::named(part.symbol));
    if (part.kind == Kind::number || part.kind == Kind::symbol) continue;
    const Dim b = stack.back();
    stack.pop_back();
    Dim& a = stack.back();
    a = part.kind == Kind::add         ? a + b
        : part.kind == Kind::multiply  ? a * b
        : part.kind == Kind::floor_div ? floor_div(a, b)
        : part.kind == Kind::smaller   ? smaller_of(a, b)
                                       : larger_of(a, b);
  }
  return stack.at(0);
}

/// Expression and its value for sizes of a, b and c; nullopt where something is divided by 0 or less.
struct Sample {
  Dim dim;
  std::optional<int64_t> value;
};

Sample random_sample(std::mt19937& random, const std::map<std::string, int64_t>& sizes, int depth) {
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  if (depth == 0 || pick(5) == 0) {
    if (pick(2) == 0) {
      const int64_t number = pick(13) - 3;
      return {number, number};
    }
    const auto symbol = std::next(sizes.begin(), pick(3));
    return {Dim::named(symbol->first), symbol->second};
  }
  const Sample a = random_sample(random, sizes, depth - 1), b = random_sample(random, sizes, depth - 1);
  const auto both = [&](Dim dim, auto compute) {
    return a.value && b.value ? Sample{dim, compute(*a.value, *b.value)} : Sample{dim, std::nullopt};
  };
  switch (pick(6)) {
    case 0:
      return both(a.dim + b.dim, [](int64_t x, int64_t y) { return x + y; });
    case 1:
      return both(a.dim - b.dim, [](int64_t x, int64_t y) { return x - y; });
    case 2:
      return both(a.dim * b.dim, [](int64_t x, int64_t y) { return x * y; });
    case 3:
      return both(smaller_of(a.dim, b.dim), [](int64_t x, int64_t y) { return std::min(x, y); });
    case 4:
      return both(larger_of(a.dim, b.dim), [](int64_t x, int64_t y) { return std::max(x, y); });
    default:
      return both(floor_div(a.dim, b.dim), [](int64_t x, int64_t y) {
        if (y <= 0) return std::optional<int64_t>();
        return std::optional((x - ((x % y) + y) % y) / y);
      });
  }
}

TEST(Dim, RandomExpressionsHaveTheValueOfTheirParts) {
  int evaluated = 0;
  for (uint32_t seed = 0; seed < 10000 * rounds(); ++seed) {
    std::mt19937 random(seed);
    const auto size = [&] { return static_cast<int64_t>(random() % 9); };
    const std::map<std::string, int64_t> sizes{{"a", size()}, {"b", size()}, {"c", size()}};
    const Sample sample = random_sample(random, sizes, 4);
    if (!sample.dim.is_known()) continue;
    const std::string form = text(sample.dim);
    TextScanner scanner(form);
    const Result<Dim> again = parse_dim(scanner);
    if (again) {
      EXPECT_EQ(*again, sample.dim) << form << ", seed " << seed;
    }
    EXPECT_EQ(of_postfix(sample.dim.postfix()), sample.dim) << form << ", seed " << seed;
    const Dim value = sample.dim.substitute({sizes.begin(), sizes.end()});
    if (!sample.value || !value.is_known()) continue;
    EXPECT_EQ(value, *sample.value) << form << ", seed " << seed;
    ++evaluated;
  }
  EXPECT_GT(evaluated, 5000);
}

TEST(Dim, TextReadsBack) {
  for (const char* form :
       {"6", "b", "2*b*s+b-1", "floor_div(h+1,2)", "max(0,s-1)", "min(a,floor_div(b,3))", "?"})
    EXPECT_EQ(text(read(form)), form);
  EXPECT_EQ(read("\"odd name\"*2"), 2 * Dim::named("odd name"));
  EXPECT_EQ(read("min"), Dim::named("min"));
}

TEST(Dim, WhatIsNotASizeIsAnError) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "min(b,";
  for (std::string form :
       {"-1", "3-5", "floor_div(b,0)", "2*", "min(b)", "9223372036854775807+1", deep.c_str()}) {
    TextScanner scanner(form);
    EXPECT_FALSE(parse_dim(scanner)) << form;
  }
}

}  // namespace
}  // namespace intarsia
