// Probe: it is short, and consecutive calls agree within a factor that any machine keeps.
//
// Covers: src/measure/ probe.cc
#include "measure/probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace intarsia {
namespace {

TEST(Probe, IsShortAndRepeatable) {
  const auto begin = std::chrono::steady_clock::now();
  const int64_t first = measure_probe();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const int64_t second = measure_probe();
  EXPECT_GT(first, 1000) << "nanoseconds: too short to be told from the clock's own steps";
  EXPECT_LT(std::max(first, second), 2 * std::min(first, second));
  EXPECT_LT(static_cast<double>(first) * 1e-9, took.count()) << "of one round, not of all";
}

}  // namespace
}  // namespace intarsia
