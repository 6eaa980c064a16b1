// Plans that were given up because loading them takes too long, with a clock that follows a price list.
//
// Covers: src/compile/ compile_regions.cc measure_plans.cc src/plan/costs/ plan_timer.cc
#include "tests/support/priced_plans.h"

namespace intarsia {
namespace {

using namespace test;

using GivenUpPlans = PlanChoice;

TEST_F(GivenUpPlans, WhatIsGivenUpIsToldAndNotTriedAgain) {
  write_chain(repeat({"Relu"}, 5));
  load_error = Error{"given up: loading it takes too long", ErrorKind::timed_out};
  const Outcome outcome = compile();
  EXPECT_EQ(outcome.regions, "own");
  EXPECT_EQ(outcome.report->faults.at("framework"), load_error->message);
  const int timed_so_far = timed;
  load_error.reset();
  const Outcome again = compile();
  EXPECT_EQ(timed, timed_so_far);
  EXPECT_EQ(again.report->faults, outcome.report->faults);
}

TEST_F(GivenUpPlans, WhatThereWasNoTimeForIsToldAndTriedAgain) {
  write_chain(repeat({"Relu"}, 5));
  load_error = Error{"given up: the time to measure is over", ErrorKind::cancelled};
  const Outcome outcome = compile();
  EXPECT_EQ(outcome.regions, "own");
  EXPECT_EQ(outcome.report->faults.at("framework"), load_error->message);
  load_error.reset();
  EXPECT_EQ(compile().regions, "framework");
}

TEST_F(GivenUpPlans, ARegionThatWasNotLoadedIsTriedBeforeItShips) {
  write_chain({"Exp", "Relu"});
  load_error = Error{"given up: loading it takes too long", ErrorKind::timed_out};
  const Outcome outcome = compile();
  EXPECT_EQ(outcome.regions, "framework own");
  EXPECT_EQ(outcome.report->disabled_reason, load_error->message);
  EXPECT_EQ(framework->tried, 1);
  load_error.reset();
  request.cache_folder += "/other";
  framework->tried = 0;
  compile();
  EXPECT_EQ(framework->tried, 0) << "they were loaded to be timed";
}

}  // namespace
}  // namespace intarsia
