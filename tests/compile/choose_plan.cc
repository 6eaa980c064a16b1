// Choice of the plan that ships, with a clock that follows a price list: nothing here depends on the
// machine's speed.
//
// Covers: src/plan/costs/ boundary_prices.cc
// src/compile/ choose_targets.cc compile_model.cc compile_plan.cc compile_regions.cc
// functions.cc measure_boundaries.cc measure_plans.cc plan_draft.cc plan_function.cc planning_tools.cc
// src/plan/choose/ choose_plan.cc src/plan/place/ plan_candidates.cc src/plan/costs/ plan_keys.cc
// plan_timer.cc
#include "plan/choose/choose_plan.h"

#include <thread>

#include "report/explanation.h"
#include "tests/support/priced_plans.h"

namespace intarsia {
namespace {

using namespace test;

TEST_F(PlanChoice, APlanWithOtherValuesDoesNotShipHoweverFastItIs) {
  write_chain(repeat({"Relu"}, 5));
  EXPECT_EQ(compile().regions, "framework");
  request.cache_folder += "/other";
  is_wrong = [](const fbs::ProgramT& program) { return uses(program, "framework"); };
  const Outcome outcome = compile();
  EXPECT_EQ(outcome.regions, "own");
  EXPECT_EQ(outcome.report->faults.at("framework"), "output 'y': element 3 is 7, want 2");
  EXPECT_FALSE(outcome.report->single_backend.contains("framework"));
  const int timed_so_far = timed;
  const Outcome again = compile();
  EXPECT_EQ(timed, timed_so_far);
  EXPECT_EQ(again.regions, "own");
  EXPECT_EQ(again.report->faults, outcome.report->faults);
}

TEST_F(PlanChoice, ThePlanAsPlacedMayBeTheOneThatIsWrong) {
  write_chain(repeat({"Sqrt"}, 5));
  is_wrong = [](const fbs::ProgramT& program) { return uses(program, "own"); };
  const Outcome outcome = compile();
  EXPECT_EQ(outcome.regions, "framework");
  EXPECT_FALSE(outcome.report->as_placed);
  EXPECT_TRUE(outcome.report->faults.contains("own"));
  EXPECT_TRUE(outcome.reasons[0].contains("as placed output 'y'")) << outcome.reasons[0];
}

TEST_F(PlanChoice, ALibraryMustPay) {
  prices[{"own", "Relu"}] = 1'000'000;
  prices[{"framework", "Relu"}] = 980'000;
  write_chain({"Relu"});
  const Outcome kept = compile();
  EXPECT_EQ(kept.regions, "own") << "2% is not worth a library";
  ASSERT_TRUE(kept.report->passed_over);
  EXPECT_EQ(kept.report->passed_over->backends, "framework");
  EXPECT_EQ(kept.report->passed_over->nanoseconds, 980'000 + region_ns);
  request.prefer = Prefer::fastest;
  const Outcome fastest = compile();
  EXPECT_EQ(fastest.regions, "framework");
  EXPECT_FALSE(fastest.report->passed_over);
  EXPECT_EQ(timed, 1) << "the same times decide";
}

TEST_F(PlanChoice, WhatOnlyTheLibraryCanRunNeedsItAnyway) {
  prices[{"own", "Relu"}] = 1'000'000;
  prices[{"framework", "Relu"}] = 980'000;
  write_chain({"Exp", "Relu"});
  EXPECT_EQ(compile().regions, "framework");
}

TEST_F(PlanChoice, TimesOfABusyMachineAreNotKept) {
  prices[{"own", "Relu"}] = 1'000'000;
  prices[{"framework", "Relu"}] = 800'000;
  write_chain({"Relu"});
  is_busy = true;
  const Outcome busy = compile();
  EXPECT_EQ(busy.regions, "own") << "20% may be chance";
  EXPECT_TRUE(busy.report->is_unsure);
  is_busy = false;
  const Outcome idle = compile();
  EXPECT_EQ(idle.regions, "framework");
  EXPECT_FALSE(idle.report->is_unsure);
  EXPECT_EQ(timed, 2);
  is_busy = true;
  const Outcome known = compile();
  EXPECT_EQ(timed, 2) << "what is known is not measured again";
  EXPECT_EQ(known.regions, "framework");
  EXPECT_FALSE(known.report->is_unsure);
}

TEST_F(PlanChoice, WhatCannotShipIsKnownFromABusyMachine) {
  write_chain(repeat({"Relu"}, 5));
  is_busy = true;
  is_wrong = [](const fbs::ProgramT& program) { return uses(program, "framework"); };
  const Outcome busy = compile();
  EXPECT_EQ(busy.regions, "own");
  EXPECT_EQ(programs_run, 2u);
  const Outcome again = compile();
  EXPECT_EQ(programs_run, 3u) << "own again, whose time was not kept";
  EXPECT_EQ(again.report->faults, busy.report->faults);
}

TEST_F(PlanChoice, OnABusyMachineOnlyLargeDifferencesCount) {
  prices[{"own", "Relu"}] = 1'000'000;
  prices[{"framework", "Relu"}] = 300'000;
  write_chain({"Relu"});
  is_busy = true;
  EXPECT_EQ(compile().regions, "framework");
}

TEST_F(PlanChoice, OnABusyMachineAMixtureMustGainAsMuch) {
  has_profile = true;
  prices[{"own", "Sqrt"}] = 1'000'000;
  prices[{"framework", "Sqrt"}] = 10'000'000;
  prices[{"own", "Relu"}] = 10'000'000;
  prices[{"framework", "Relu"}] = 8'500'000;
  write_chain({"MatMul", "Relu", "MatMul", "Sqrt"});
  is_busy = true;
  EXPECT_EQ(compile().regions, "own");
  is_busy = false;
  EXPECT_EQ(compile().report->shipped, PlanReport::Shipped::mixed);
  request.cache_folder += "/other";
  prices[{"framework", "Relu"}] = 4'000'000;
  is_busy = true;
  EXPECT_EQ(compile().report->shipped, PlanReport::Shipped::mixed);
}

TEST_F(PlanChoice, FiftyIslandsThatDoNotPay) {
  write_chain(repeat({"Relu", "Exp"}, 50));
  const auto result = compile();
  EXPECT_EQ(result.regions, "framework");
  ASSERT_TRUE(result.report);
  EXPECT_EQ(result.report->shipped, PlanReport::Shipped::single_backend);
  EXPECT_EQ(result.report->single, "framework");
  EXPECT_EQ(result.report->dissolved, 50);
  EXPECT_EQ(result.report->as_placed, 50 * (120'000 + 20'000 + 2 * region_ns));
  EXPECT_EQ(result.report->measured, 50 * (50'000 + 20'000) + region_ns);
  EXPECT_EQ(result.report->single_backend.at("framework"), result.report->measured);
  EXPECT_EQ(result.reasons[0], "dissolved: 0.12 ms natively, 0.05 ms in framework");
  EXPECT_EQ(result.reasons[1], "first that supports it");
}

TEST_F(PlanChoice, OnlyIslandsThatDoNotPay) {
  write_chain({"Exp", "Relu", "Exp", "Sqrt", "Exp"});
  const auto result = compile();
  EXPECT_EQ(result.regions, "framework own framework");
  EXPECT_EQ(result.report->shipped, PlanReport::Shipped::dissolved);
  EXPECT_EQ(result.report->dissolved, 1);
  EXPECT_EQ(result.report->measured, 3 * 20'000 + 50'000 + 100'000 + 3 * region_ns);
  EXPECT_EQ(result.report->single_backend.at("framework"), 3 * 20'000 + 50'000 + 900'000 + region_ns);
  EXPECT_EQ(result.reasons[1], "dissolved: 0.12 ms natively, 0.05 ms in framework");
  EXPECT_EQ(result.reasons[3], "first choice");
}

TEST_F(PlanChoice, TheCallsAtTheBoundaryCount) {
  prices[{"own", "Relu"}] = 48'000;  // less than in the framework, but not by the price of a region
  write_chain(repeat({"Exp", "Relu"}, 10));
  EXPECT_EQ(compile().report->shipped, PlanReport::Shipped::single_backend);
}

TEST_F(PlanChoice, ATieGoesToThePlanAsPlaced) {
  prices[{"own", "Relu"}] = 1'000'000;
  prices[{"framework", "Relu"}] = 1'002'000;
  write_chain({"Exp", "Relu"});
  const auto result = compile();
  EXPECT_EQ(result.regions, "framework own");
  EXPECT_EQ(result.report->shipped, PlanReport::Shipped::as_placed);
  EXPECT_EQ(result.report->measured, 1'020'000 + 2 * region_ns);
  EXPECT_EQ(result.report->single_backend.at("framework"), 1'022'000 + region_ns) << "0.3% less";
  EXPECT_EQ(result.reasons[1], "first choice");
}

TEST_F(PlanChoice, CutsMoveToWhereTimedStagesAreEqual) {
  request.devices = {"cpu:0", "cpu:1"};
  request.objective = Objective::throughput;
  request.stages = 2;
  has_profile = true;
  prices[{"own", "Relu"}] = 100'000;
  prices[{"framework", "Relu"}] = 900'000;
  told["Relu0"] = 300'000;  // makes it and the first product seem to take as long as all others
  write_chain({"Relu", "MatMul", "MatMul", "MatMul", "MatMul", "MatMul"});
  const Result<CompileResult> result = compile_model(request, services);
  ASSERT_TRUE(result) << result.error().message;
  const CompiledFunction& function = result->functions[0];
  EXPECT_EQ(function.chosen.plan.placement.stages(), (std::vector<uint32_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(function.stage_report->nudged, 1);
  EXPECT_EQ(function.stage_report->chosen, "2 stages: cpu:0 | cpu:1");
  for (const ChosenStage& stage : function.chosen.stages) {
    EXPECT_EQ(stage.measured, 300'000);
    EXPECT_EQ(stage.predicted, 300'000);
  }
  EXPECT_EQ(function.stage_report->lower_bound, 300'000);
  EXPECT_EQ(function.chosen.measured, 600'000 + 2 * region_ns) << "as a session";
}

TEST_F(PlanChoice, StagesThatAreSlowerThanReplicasDoNotShip) {
  request.devices = {"cpu:0", "cpu:1"};
  request.objective = Objective::throughput;
  has_profile = true;
  write_chain({"MatMul", "MatMul", "Sqrt", "MatMul"});
  prices[{"own", "Sqrt"}] = 900'000;
  const Result<CompileResult> result = compile_model(request, services);
  ASSERT_TRUE(result) << result.error().message;
  const CompiledFunction& function = result->functions[0];
  ASSERT_EQ(function.chosen.stages.size(), 1u);
  EXPECT_EQ(function.chosen.stages[0].executors, (std::vector<std::string>{"cpu:0", "cpu:1"}));
  EXPECT_EQ(function.stage_report->chosen, "2 replicas of the whole: cpu:0, cpu:1");
}

TEST_F(PlanChoice, WholeRunsDecide) {
  stretch = [](const fbs::ProgramT& program, int64_t time) {
    return program.regions.size() == 1 ? 10 * time : time;
  };
  write_chain({"Relu", "Exp"});
  const auto result = compile();
  EXPECT_EQ(result.regions, "own framework");
  EXPECT_EQ(result.report->shipped, PlanReport::Shipped::as_placed);
}

TEST_F(PlanChoice, TheFrameworkAloneMayBeFasterThanTheSumOfItsParts) {
  prices[{"framework", "Relu"}] = 200'000;
  stretch = [](const fbs::ProgramT& program, int64_t time) {
    return program.regions.size() == 1 ? time / 3 : time;
  };
  write_chain({"Relu", "Exp"});
  const auto result = compile();
  EXPECT_EQ(result.regions, "framework");
  EXPECT_EQ(result.reasons[0], "all in framework: 0.075 ms, as placed 0.15 ms");
}

TEST_F(PlanChoice, TimesOfOtherCodeAreNotUsed) {
  write_chain({"Exp", "Relu", "Exp", "Sqrt"});
  compile();
  EXPECT_EQ(timed, 2);
  framework->set_code_generation("2");
  compile();
  EXPECT_EQ(timed, 4);
}

TEST_F(PlanChoice, PricesOfBoundariesAreMeasuredOnce) {
  write_chain({"Exp", "Relu", "Exp", "Sqrt"});
  ASSERT_TRUE(compile_model(request, services));
  EXPECT_EQ(timed, 4) << "regions, whole runs, and chains of few and of many bytes";
  CostTable table(request.cache_folder);
  const auto call_of = [&](const Target& backend) {
    const auto price = table.find_link("boundary", boundary_key(backend, request.threads));
    return price ? price->latency_ns : -1;
  };
  EXPECT_EQ(call_of(*services.backends[0]), prices.at({"own", "Transpose"}) + region_ns);
  EXPECT_EQ(call_of(*framework), prices.at({"framework", "Transpose"}) + region_ns);
  write_chain({"Exp", "Relu", "Exp", "Sqrt", "Sqrt"});
  ASSERT_TRUE(compile_model(request, services));
  EXPECT_EQ(timed, 6);
}

TEST_F(PlanChoice, TimesAreKept) {
  write_chain({"Exp", "Relu", "Exp", "Sqrt"});
  const auto first = compile();
  const std::string program = bytes();
  EXPECT_EQ(timed, 2) << "regions, then whole runs";
  prices[{"framework", "Relu"}] = 1;
  const auto second = compile();
  EXPECT_EQ(timed, 2);
  EXPECT_EQ(second.report->measured, first.report->measured);
  EXPECT_EQ(bytes(), program);
  request.threads = 1;
  request.exact_math = true;
  EXPECT_GT(*first.report->measured, *compile().report->measured) << "other code, other times";
}

TEST_F(PlanChoice, ARegionIsKnownFromAnotherPlan) {
  write_chain({"Exp", "Relu", "Sqrt", "Exp", "Relu", "Exp"});
  const auto first = compile();
  EXPECT_EQ(first.report->regions_measured, 5) << "equal regions are one: Exp; Relu Sqrt and Relu in both";
  EXPECT_EQ(first.report->regions_remembered, 0);
  EXPECT_EQ(programs_run, 2 + 3u) << "for regions, then whole";
  request.pins = {{"Relu1", "framework@cpu"}};
  const auto second = compile();
  EXPECT_EQ(second.report->regions_measured, 3) << "Exp Relu in the framework; Sqrt in both";
  EXPECT_EQ(second.report->regions_remembered, 3);
  const auto third = compile();
  EXPECT_EQ(third.report->regions_measured, 0);
  EXPECT_EQ(third.report->regions_remembered, 6);
  EXPECT_EQ(probed, 2) << "once in each compile that measured";
}

TEST_F(PlanChoice, OnlyPlansWithUnknownRegionsRun) {
  write_chain({"Exp", "Relu", "Exp", "Sqrt", "Exp"});
  compile();
  timed = programs_run = 0;
  request.pins = {{"Relu1", "own@cpu"}};
  EXPECT_EQ(compile().report->regions_measured, 0);
  EXPECT_EQ(timed, 1) << "whole plans only";
  timed = programs_run = 0;
  request.pins = {{"Sqrt3", "framework@cpu"}};
  EXPECT_EQ(compile().report->regions_measured, 1) << "Exp Sqrt Exp";
  EXPECT_EQ(timed, 2);
  EXPECT_EQ(programs_run, 1 + 2u) << "the plan as placed has all that is new";
}

TEST_F(PlanChoice, TimesOfAFasterMachineAreMeasuredAgain) {
  write_chain({"Exp", "Relu", "Sqrt", "Exp", "Relu", "Exp"});
  compile();
  probe = 1060;
  EXPECT_EQ(compile().report->regions_measured, 0) << "what is known agrees with itself";
  EXPECT_EQ(probed, 1);
  request.pins = {{"Relu1", "framework@cpu"}};
  const auto slower = compile();
  EXPECT_EQ(slower.report->regions_measured, 6);
  EXPECT_EQ(slower.report->regions_remembered, 0);
  probe = 1020;
  request.pins = {{"Relu4", "framework@cpu"}};
  EXPECT_GT(compile().report->regions_remembered, 0) << "within 5%";
}

TEST_F(PlanChoice, RegionsOnACoreSetHaveItsThreads) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "two threads are not measured on one core";
  request.devices = {"cpu:0"};
  write_chain({"Exp", "Relu", "Exp", "Sqrt"});
  EXPECT_EQ(compile().report->regions_measured, 5);
  request.threads = 2;
  EXPECT_EQ(compile().report->regions_measured, 0) << "there is one core for them";
  request.devices = {"cpu"};
  EXPECT_EQ(compile().report->regions_measured, 5);
}

TEST_F(PlanChoice, RivalPlansAreTimedTogether) {
  write_chain({"Exp", "Relu", "Exp", "Sqrt"});
  compile();
  request.pins = {{"Sqrt3", "framework@cpu"}};  // makes the framework alone a rival again
  compile();
  timed = 0;
  compile();
  EXPECT_EQ(timed, 0);
  request.pins.clear();
  compile();
  EXPECT_EQ(timed, 1) << "no regions; whole plans, as one of them is from another measurement";
}

TEST_F(PlanChoice, AnExtraProgramThatDoesNotRunIsNotTriedAgain) {
  stretch = [](const fbs::ProgramT& program, int64_t time) {
    const bool only_framework = std::ranges::all_of(
        program.regions, [](const auto& region) { return region->backend == "framework"; });
    return only_framework && program.regions.size() > 1 ? -1 : time;
  };
  write_chain({"Exp", "Relu", "Exp", "Sqrt"});
  const auto first = compile();
  EXPECT_EQ(first.report->dissolved, 0);
  EXPECT_EQ(first.report->regions_measured, 3);
  timed = 0;
  const auto second = compile();
  EXPECT_EQ(timed, 0);
  EXPECT_EQ(second.report->regions_measured, 0);
  EXPECT_EQ(second.regions, first.regions);
}

TEST_F(PlanChoice, PinsStay) {
  write_chain(repeat({"Relu", "Exp"}, 3));
  request.pins = {{"Relu2", "own@cpu"}};
  const auto result = compile();
  EXPECT_EQ(result.regions, "framework own framework");
  EXPECT_EQ(result.reasons[2], "pinned by the user");
  EXPECT_EQ(result.report->shipped, PlanReport::Shipped::dissolved);
  EXPECT_TRUE(result.report->single_backend.empty()) << "nothing ran in the framework alone";
}

TEST_F(PlanChoice, PinsMayLeaveNoChoice) {
  write_chain({"Relu", "Exp"});
  request.pins = {{"Relu0", "own@cpu"}};
  const auto result = compile();
  EXPECT_EQ(result.regions, "own framework");
  EXPECT_EQ(result.report->disabled_reason, "no backend takes nodes of another");
  EXPECT_EQ(timed, 0);
}

TEST_F(PlanChoice, KernelsOfTheUserStay) {
  add_target("users", {"Exp", "Sqrt"}, false, true);
  request.backends = {"users", "own", "framework"};
  write_chain({"Relu", "Exp"});
  EXPECT_EQ(compile().regions, "users framework");
}

TEST_F(PlanChoice, WhatTheFrameworkRefusesStays) {
  services.backends.pop_back();
  add_target("framework", {"Sqrt"}, true);
  write_chain({"Sqrt", "Exp", "Relu"});
  const auto result = compile();
  EXPECT_EQ(result.regions, "own framework");
  EXPECT_EQ(result.report->shipped, PlanReport::Shipped::dissolved);
  EXPECT_TRUE(result.report->single_backend.empty());
}

TEST_F(PlanChoice, APlanThatDoesNotCompileIsLeftOut) {
  framework->breaks_at = 4;
  write_chain({"Exp", "Relu", "Exp", "Sqrt", "Exp"});
  const auto result = compile();
  EXPECT_EQ(result.regions, "framework own framework");
  EXPECT_TRUE(result.report->single_backend.empty());
  compile();
  EXPECT_EQ(timed, 2) << "that it does not compile is kept, too";
}

TEST_F(PlanChoice, AModelThatCannotBeMeasuredShipsAsPlaced) {
  stretch = [](const fbs::ProgramT&, int64_t) { return int64_t{-1}; };
  write_chain({"Relu", "Exp"});
  const auto result = compile();
  EXPECT_EQ(result.regions, "own framework");
  EXPECT_EQ(result.report->disabled_reason, "it does not run");
  EXPECT_FALSE(result.report->measured);
}

TEST_F(PlanChoice, NothingIsTimedUnasked) {
  write_chain({"Relu", "Exp"});
  request.tune = Tune::off;
  const auto result = compile();
  EXPECT_EQ(result.regions, "own framework");
  EXPECT_EQ(result.report->disabled_reason, "--tune off");
  write_chain({"Relu", "Sqrt"});
  EXPECT_FALSE(compile().report) << "one backend runs it all";
  write_chain({"Relu", "Exp"});
  request.tune = Tune::fast;
  request.keep_placement = true;
  EXPECT_EQ(compile().regions, "own framework");
  request.keep_placement = false;
  write_chain({"Exp"});
  EXPECT_FALSE(compile().report) << "only one backend takes it";
  EXPECT_EQ(timed, 0);
}

TEST_F(PlanChoice, WhatOneBackendTakesWholeIsComparedToo) {
  write_chain({"Relu", "Relu"});
  const auto result = compile();
  EXPECT_EQ(result.regions, "framework");
  EXPECT_EQ(
      result.report->single_backend,
      (std::map<std::string, int64_t>{{"own", 240'000 + region_ns}, {"framework", 100'000 + region_ns}}));
  EXPECT_EQ(result.reasons[0], "all in framework: 0.105 ms, as placed 0.245 ms");
  write_chain({"Sqrt", "Relu"});
  EXPECT_EQ(compile().regions, "own");
}

TEST_F(PlanChoice, PartsGoWhereTheyAreCheapest) {
  has_profile = true;
  write_chain({"MatMul", "Relu", "MatMul", "Sqrt"});
  const auto result = compile();
  EXPECT_EQ(result.regions, "framework own");
  EXPECT_EQ(result.report->shipped, PlanReport::Shipped::mixed);
  EXPECT_EQ(result.report->measured, 150'000 + 200'000 + 2 * region_ns);
  EXPECT_NEAR(static_cast<double>(*result.report->predicted), 350'000 + 2'000 + 10'000, 10);
  EXPECT_EQ(result.reasons[1], "cheapest: 0.15 ms in framework@cpu, 0.22 ms in own@cpu");
  EXPECT_EQ(result.reasons[3], "first choice");
  EXPECT_EQ(timed, 2) << "the plans of one backend, then the mixture with them";
  const auto again = compile();
  EXPECT_EQ(timed, 2) << "all is known";
  EXPECT_EQ(again.regions, result.regions);
}

TEST_F(PlanChoice, EqualPartsOfAnotherModelAreKnown) {
  has_profile = true;
  write_chain({"MatMul", "Relu", "MatMul", "Sqrt"});
  compile();
  timed = programs_run = 0;
  write_chain({"MatMul", "Sqrt", "MatMul", "Relu"});
  EXPECT_EQ(compile().regions, "own framework");
  EXPECT_EQ(programs_run, 2u + 2u) << "whole plans, the slow one once, and none for its parts alone";
}

TEST_F(PlanChoice, AMixtureThatIsSlowerThanItsPartsDoesNotShip) {
  has_profile = true;
  stretch = [](const fbs::ProgramT& program, int64_t time) {
    return program.regions.size() > 1 ? 3 * time : time;
  };
  write_chain({"MatMul", "Relu", "MatMul", "Sqrt"});
  const auto result = compile();
  EXPECT_EQ(result.regions, "own");
  EXPECT_FALSE(result.report->predicted);
}

TEST_F(PlanChoice, PinsHoldInMixtures) {
  has_profile = true;
  write_chain({"MatMul", "Relu", "MatMul", "Sqrt", "MatMul", "Relu"});
  request.pins = {{"Relu5", "own@cpu"}};
  EXPECT_EQ(compile().regions, "framework own");
}

TEST_F(PlanChoice, AFrameworkThatIsMissingHasAnAlternative) {
  write_chain({"Relu", "Relu"});
  compile();
  const fbs::ProgramT program = read_program(request.program_path)->description;
  EXPECT_EQ(program.needs, std::vector<std::string>{"alternatives"});
  EXPECT_TRUE(program.requirements.empty());
  const fbs::FunctionT& function = *program.functions[0];
  EXPECT_EQ(function.measured_ns, 100'000u + region_ns);
  ASSERT_EQ(function.alternatives.size(), 1u);
  EXPECT_EQ(function.alternatives[0]->measured_ns, 240'000u + region_ns);
  EXPECT_EQ(program.regions[function.alternatives[0]->steps[0]->region]->backend, "own");
  write_chain({"Relu", "Exp"});
  compile();
  EXPECT_TRUE(read_program(request.program_path)->description.functions[0]->alternatives.empty())
      << "nothing else runs Exp";
  write_chain({"Relu", "Relu"});
  request.pins = {{"Relu0", "framework@cpu"}};
  compile();
  EXPECT_TRUE(read_program(request.program_path)->description.functions[0]->alternatives.empty())
      << "the user wants the framework";
}

TEST_F(PlanChoice, AnAlternativeThatDoesNotCompileIsNoted) {
  request.devices = {"cpu", "accel=sim:0"};
  request.pins = {{"Relu1", "own@accel"}};
  request.also = {"cpu"};
  request.tune = Tune::off;
  static_cast<PricedTarget&>(*services.backends[0]).breaks_at = 2;
  write_chain({"Relu", "Relu"});
  const Result<CompileResult> result = compile_model(request, services);
  ASSERT_TRUE(result) << result.error().message;
  const MappedProgram program = read_program(request.program_path).value();
  EXPECT_TRUE(program.description.functions[0]->alternatives.empty());
  ASSERT_EQ(program.description.functions[0]->notes.size(), 1u);
  EXPECT_EQ(
      program.description.functions[0]->notes[0],
      "the plan on own@cpu is no alternative: region 0 on own@cpu (from node 'Relu0'): 2 nodes are too many");
  EXPECT_EQ(explain_program(program).notes, program.description.functions[0]->notes);
}

TEST_F(PlanChoice, NoTimeIsNotAnError) {
  write_chain({"Relu", "Exp"});
  request.tune_seconds = 1e-9;
  EXPECT_EQ(compile().report->disabled_reason, "the time to measure is over (--tune-seconds)");
  EXPECT_EQ(timed, 0);
}

TEST_F(PlanChoice, ASimulationWithoutTimesGetsOnlyWhatIsPinnedToIt) {
  request.devices = {"cpu", "accel=sim:0"};
  request.pins = {{"Sqrt*", "framework@accel"}};
  prices[{"own", "MatMul"}] = 900'000;
  write_chain({"MatMul", "Sqrt", "MatMul"});
  const Result<CompileResult> result = compile_model(request, services);
  ASSERT_TRUE(result) << result.error().message;
  const CompiledFunction& function = result->functions[0];
  std::vector<std::string> targets;
  for (const Region& region : function.chosen.plan.partition.regions)
    targets.push_back(function.problem->targets[region.target].name);
  EXPECT_EQ(targets, (std::vector<std::string>{"framework@cpu", "framework@accel", "framework@cpu"}));
}

TEST_F(PlanChoice, AnIslandOnAnotherDeviceIsNone) {
  const std::string times = request.cache_folder + "/times.json";
  std::ofstream(times) << R"({"default": 1})";
  request.devices = {"cpu", "accel=sim:0?times=" + times};
  request.pins = {{"Exp*", "framework@accel"}};
  write_chain({"Exp", "Relu", "Exp"});
  const auto result = compile();
  EXPECT_EQ(result.report->dissolved, 1) << "all in framework@accel, not as an island";
  EXPECT_EQ(result.reasons[1].substr(0, 16), "all in framework");
}

}  // namespace
}  // namespace intarsia
