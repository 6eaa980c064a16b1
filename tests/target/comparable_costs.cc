// Times that can be compared: those whose probes all agree with each other within 5%.
//
// Covers: src/target/ comparable_costs.cc timing.cc
#include "target/comparable_costs.h"

#include <gtest/gtest.h>

namespace intarsia {
namespace {

/// Fixture with rivals "0", "1", ... and the probes of their rows; 0 means that there is no row.
class ComparableCosts : public testing::Test {
 protected:
  void make_rows(const std::vector<int64_t>& probes) {
    for (size_t i = 0; i < probes.size(); ++i) {
      rivals.push_back({.digest = std::to_string(i)});
      if (probes[i] > 0) known[rivals.back()] = {{1000, 0.1}, probes[i], 1};
    }
  }

  /// Returns the digests of the rivals that must be measured while the probe takes `today`.
  std::string missing(int64_t today) {
    std::string text;
    for (const CostKey& key : find_incomparable(rivals, known, [&] { return ++probed, today; }))
      text += key.digest;
    return text;
  }

  std::vector<CostKey> rivals;
  std::map<CostKey, Cost> known;
  int probed = 0;
};

TEST_F(ComparableCosts, RowsThatAgreeStayHoweverFastTheMachineIsToday) {
  make_rows({1000, 1049, 1020});
  EXPECT_EQ(missing(5000), "");
  EXPECT_EQ(probed, 0);
}

TEST_F(ComparableCosts, OnlyWhatIsMissingIsMeasuredOnAMachineThatIsAsFast) {
  make_rows({1000, 0, 1020});
  EXPECT_EQ(missing(1040), "1");
  EXPECT_EQ(missing(980), "1");
}

TEST_F(ComparableCosts, WhatDoesNotAgreeWithTodayIsMeasuredAgain) {
  make_rows({1000, 0, 1100});
  EXPECT_EQ(missing(1100), "01");
  EXPECT_EQ(missing(1000), "12");
  EXPECT_EQ(missing(2000), "012");
}

TEST_F(ComparableCosts, RowsOfDifferentDaysAreMeasuredAgainThoughAllAreKnown) {
  make_rows({1000, 1051});
  EXPECT_EQ(missing(1060), "0");
  EXPECT_EQ(missing(1000), "1");
  EXPECT_EQ(probed, 2);
}

TEST_F(ComparableCosts, WhatStaysAgreesWithEachOther) {
  make_rows({960, 1040, 0});
  EXPECT_EQ(missing(1000), "12") << "both agree with 1000, but not with each other";
  known[rivals[1]].probe_nanoseconds = known[rivals[2]].probe_nanoseconds = 1000;
  known[rivals[2]].timing.nanoseconds = 7;
  EXPECT_EQ(missing(1), "") << "after they were measured nothing is left";
}

TEST_F(ComparableCosts, WhatNeverRunsAgreesWithAll) {
  make_rows({1000, 3000, 1000});
  known[rivals[1]].timing = {};
  EXPECT_EQ(missing(5000), "");
}

TEST_F(ComparableCosts, TimedTogetherIsOneMeasurement) {
  make_rows({1000, 1000, 1000});
  EXPECT_TRUE(were_timed_together(rivals, known));
  known[rivals[1]].at = 2;
  EXPECT_FALSE(were_timed_together(rivals, known)) << "though the probes agree";
  known[rivals[1]].at = 1;
  known.erase(rivals[0]);
  EXPECT_FALSE(were_timed_together(rivals, known));
}

TEST(Timing, IsTheLeastAndHowFarTheMedianIsAboveIt) {
  const Timing timing = summarize_rounds({130, 100, 900, 120, 110});
  EXPECT_EQ(timing.nanoseconds, 100);
  EXPECT_DOUBLE_EQ(timing.spread, 0.2);
  EXPECT_EQ(summarize_rounds({5}), (Timing{5, 0}));
  EXPECT_EQ(summarize_rounds({0}), (Timing{1, 0})) << "a clock may be too coarse";
  EXPECT_EQ(summarize_rounds({}).nanoseconds, never);
}

}  // namespace
}  // namespace intarsia
