// Peak performance: it is that of a core that computes with vectors, and consecutive calls agree.
//
// Covers: src/measure/ peak.cc
#include "measure/peak.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace intarsia {
namespace {

TEST(Peak, IsOfACoreWithVectors) {
  if (!widest_fma_loop()) GTEST_SKIP() << "this CPU has no fused multiply-add on vectors";
  const double first = measure_peak(), second = measure_peak();
  EXPECT_GT(std::max(first, second), 8) << "a multiply-add of 8 elements in each of 0.5 * 10^9 cycles";
  EXPECT_LT(std::max(first, second), 1000) << "two multiply-adds of 32 elements at 8 GHz";
  EXPECT_LT(std::max(first, second), 2 * std::min(first, second));
}

}  // namespace
}  // namespace intarsia
