// Greatest and least elements of rows against the reference kernels: equal ones, NaN, infinity and zeros of
// both signs, rows in any order, every number of elements.
//
// Covers: backends/halide/build/ build_routine.cc backends/halide/canonicalize/ canonicalize_selection.cc
// backends/halide/routines/ top_k.cc
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "tests/support/halide_support.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

/// Fills rows with few different numbers, among them special ones.
template <typename T>
void fill_with_equals(const Tensor& rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  using Limits = std::numeric_limits<T>;
  const T specials[] = {Limits::lowest(),
                        Limits::max(),
                        Limits::quiet_NaN(),
                        Limits::infinity(),
                        static_cast<T>(-Limits::infinity()),
                        T(0),
                        static_cast<T>(-T(0)),
                        T(1)};
  for (T& element : rows.as<T>()) {
    const uint64_t number = random() % 16;
    element = number < 8 ? specials[number] : static_cast<T>(number - 12);
  }
}

void fill(const Tensor& rows, uint64_t seed) {
  switch (rows.dtype()) {
    case DType::f32:
      return fill_with_equals<float>(rows, seed);
    case DType::f64:
      return fill_with_equals<double>(rows, seed);
    case DType::i64:
      return fill_with_equals<int64_t>(rows, seed);
    case DType::u64:
      return fill_with_equals<uint64_t>(rows, seed);
    case DType::i32:
      return fill_with_equals<int32_t>(rows, seed);
    case DType::u32:
      return fill_with_equals<uint32_t>(rows, seed);
    case DType::i16:
      return fill_with_equals<int16_t>(rows, seed);
    case DType::i8:
      return fill_with_equals<int8_t>(rows, seed);
    default:
      return fill_with_equals<uint8_t>(rows, seed);
  }
}

/// Expects the same elements and the same places as the reference kernel finds.
void expect_equal(const Tensor& rows, int64_t k, bool largest) {
  const Result<Graph> graph = make_graph(fmt::format(
      R"(graph "top" opsets {{"": 18}}
input %x : {}{}
const %k : i64[1] = {{{}}}
%y, %i = TopK(%x, %k) {{largest={}}}
output %y
output %i)",
      dtype_name(rows.dtype()), print_shape(to_symbolic(rows.shape())), k, largest ? 1 : 0));
  ASSERT_TRUE(graph) << graph.error().message;
  const auto region = LoadedRegion::make(*graph, {2, "native", {}}, {});
  ASSERT_TRUE(region) << region.error().message;
  TestTeam threads(2);
  const auto got = (*region)->run({rows}, &threads), want = run_reference(*graph, {rows});
  ASSERT_TRUE(got && want);
  EXPECT_TRUE(std::ranges::equal((*got)[1].as<int64_t>(), (*want)[1].as<int64_t>()))
      << dtype_name(rows.dtype()) << "[" << print_shape(rows.shape()) << "], k " << k << ", largest "
      << largest;
  EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view(), 0, 0), "");
}

TEST(HalideTopK, OfEveryTypeTakesTheFirstOfEqualElements) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::u64, DType::i32, DType::u32,
                            DType::i16, DType::i8, DType::u8})
    for (const bool largest : {false, true}) {
      const Tensor rows(dtype, {3, 45});
      fill(rows, static_cast<uint64_t>(dtype));
      expect_equal(rows, 17, largest);
    }
}

/// Fills rows of `length` in different orders; in one of them all great elements are multiples of a vector
/// apart.
template <typename T>
void fill_orders(const Tensor& rows, size_t length) {
  std::mt19937 random(1);
  for (size_t i = 0; i < rows.as<T>().size(); ++i) {
    const size_t place = i % length;
    const size_t in_order[] = {
        place, length - place, random() % 10000, 7, place % 64 == 3 ? length : place % 64, 0};
    rows.as<T>()[i] = static_cast<T>(in_order[i / length]);
  }
}

TEST(HalideTopK, OfLongRowsInAnyOrder) {
  const Tensor rows(DType::f32, {6, 3000}), long_rows(DType::u64, {6, 3000});
  fill_orders<float>(rows, 3000);
  fill_orders<uint64_t>(long_rows, 3000);
  for (const int64_t k : {1, 5, 16, 17, 63, 64, 65, 700, 1500, 2999, 3000})
    for (const bool largest : {false, true}) expect_equal(rows, k, largest);
  for (const int64_t k : {5, 64})
    for (const bool largest : {false, true}) expect_equal(long_rows, k, largest);
}

TEST(HalideTopK, OfRowsOfAboutOneBlock) {
  for (const int64_t length : {5, 31, 32, 33, 64, 130}) {
    const Tensor rows(length % 2 == 0 ? DType::f32 : DType::i64, {5, length});
    fill(rows, static_cast<uint64_t>(length));
    for (const int64_t k : {1, 5}) expect_equal(rows, k, length % 3 == 0);
  }
}

}  // namespace
}  // namespace intarsia::test
