// Progress bar that never goes back.
//
// Covers: src/base/ progress.cc
#include "base/progress.h"

#include <gtest/gtest.h>

#include <vector>

namespace intarsia {
namespace {

using Shown = std::vector<std::pair<std::string, double>>;

Progress record(Shown& shown) {
  return Progress([&shown](const std::string& phase, double part) { shown.emplace_back(phase, part); });
}

TEST(Progress, PartsMoveWithinTheirShare) {
  Shown shown;
  const Progress all = record(shown);
  all.expect(4);
  const Progress first = all.part(3);
  first.expect(2);
  first.did("a");
  first.did("b");
  all.begin("c");
  all.did("c");
  EXPECT_EQ(shown, (Shown{{"a", 0.375}, {"b", 0.75}, {"c", 0.75}, {"c", 1}}));
}

TEST(Progress, MoreWorkMakesItSlower) {
  Shown shown;
  const Progress all = record(shown);
  all.expect(2);
  all.did("a");
  all.expect(3);
  all.did("b");
  all.did("c", 3);
  EXPECT_EQ(shown, (Shown{{"a", 0.5}, {"b", 0.625}, {"c", 1}}));
}

TEST(Progress, UnexpectedWorkTakesHalf) {
  Shown shown;
  const Progress all = record(shown);
  all.did("a");
  all.part(1).did("b");
  all.begin("c");
  EXPECT_EQ(shown, (Shown{{"a", 0.5}, {"b", 0.625}, {"c", 0.75}}));
}

TEST(Progress, WithoutABarNothingIsShown) {
  const Progress none;
  none.expect(1);
  none.part(1).did("a");
  none.begin("b");
}

}  // namespace
}  // namespace intarsia
