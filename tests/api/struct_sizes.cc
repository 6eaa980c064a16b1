// Structs of callers whose header has fewer or more fields than the library's.
//
// Covers: src/api/ struct_sizes.h
#include "api/struct_sizes.h"

#include <gtest/gtest.h>

namespace intarsia::api {

struct First {
  size_t struct_size;
  int64_t a;
};
struct Grown {
  size_t struct_size;
  int64_t a, b;
};
struct Later {
  Grown grown;
  int64_t c;
};
template <>
inline constexpr size_t first_size<Grown> = sizeof(First);

namespace {

TEST(StructSizes, WhatAnOlderHeaderLacksIsZero) {
  struct {
    First first{sizeof(First), 7};
    int64_t after = 99;
  } older;
  const auto read = read_struct(reinterpret_cast<const Grown&>(older.first), "the options");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->a, 7);
  EXPECT_EQ(read->b, 0);
}

TEST(StructSizes, AnOlderHeadersStructIsFilledToItsEnd) {
  struct {
    First first{sizeof(First), 0};
    int64_t after = 99;
  } older;
  ASSERT_TRUE(fill_struct(reinterpret_cast<Grown*>(&older.first), Grown{sizeof(Grown), 1, 2}));
  EXPECT_EQ(older.first.a, 1);
  EXPECT_EQ(older.first.struct_size, sizeof(First));
  EXPECT_EQ(older.after, 99);
}

TEST(StructSizes, ANewerHeadersFieldIsRefusedOnlyWhereItIsSet) {
  Later later{{sizeof(Later), 1, 2}, 0};
  EXPECT_TRUE(read_struct(later.grown, "the options"));
  later.c = 3;
  const auto refused = read_struct(later.grown, "the options");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the options sets a field that this Intarsia does not have: update it");
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
}

TEST(StructSizes, AStructThatIsTooShortIsRefused) {
  const Grown none{0, 1, 2};
  EXPECT_EQ(read_struct(none, "the options").error().message,
            "struct_size of the options is 0, want at least " + std::to_string(least_size<Grown>) +
                ": set it to sizeof of the struct");
  EXPECT_FALSE(fill_struct<Grown>(nullptr, {}));
}

}  // namespace
}  // namespace intarsia::api
