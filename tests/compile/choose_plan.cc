// Which plan ships, with a clock that follows a price list: nothing here depends on how fast the machine is.
//
// Covers: src/compile/ choose_targets.cc compile_model.cc compile_regions.cc measure_plans.cc
// src/plan/ choose_plan.cc plan_candidates.cc plan_keys.cc plan_timer.cc
#include "plan/choose_plan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <thread>

#include "compile/compile_model.h"
#include "program/read_program.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/test_folder.h"

namespace intarsia {
namespace {

/// Takes all operators but those it refuses. Its regions are empty: only the clock below "runs" them.
class PricedTarget : public Target {
 public:
  PricedTarget(std::string name, std::set<std::string> refused, bool framework = false, bool users = false)
      : Target({.name = std::move(name),
                .device_kinds = {},
                .code_generation = 1,
                .needs_framework = framework,
                .is_users_own = users}),
        refused_(std::move(refused)) {}
  std::string version() const override { return "1"; }
  Support supports(const Graph& graph, NodeId node, const TargetDevice&) const override {
    const std::string& op = graph.node(node).op;
    return refused_.contains(op) ? Support::refused("no " + op) : Support::supported();
  }
  Result<CompiledRegion> compile(const Graph& region, const TargetDevice&,
                                 const CompileOptions&) const override {
    if (region.nodes.size() >= breaks_at) return fail("{} nodes are too many", region.nodes.size());
    CompiledRegion compiled;
    compiled.blob = "a blob";
    return compiled;
  }

  size_t breaks_at = 1000;
  void set_code_generation(int number) { info_.code_generation = number; }

 private:
  std::string name_;
  std::set<std::string> refused_;
  bool framework_, users_;
};

constexpr int64_t region_ns = 5000;  // what a region costs beside its nodes, to be seen in whole runs alone

/// A chain of operators, compiled with prices for each operator in each backend.
class PlanChoice : public testing::Test {
 protected:
  PlanChoice() {
    request.model_path = folder_ + "/model.onnx";
    request.program_path = folder_ + "/model.so";
    request.cache_folder = folder_;
    add_target("own", {"Exp"});
    framework = add_target("framework", {}, true);
    tools.time_kernels = [](const std::string&, const KernelBatch&, const std::string&, int) {
      return std::vector<Timing>();
    };
    tools.probe = [this] { return ++probed, probe; };
    tools.time_link = [](const std::string&, const std::string&) { return LinkCost{.latency_ns = 1000}; };
    tools.time_programs = [this](std::vector<TemporaryFile> programs, const TimingOptions&) {
      return time(programs);
    };
  }

  PricedTarget* add_target(const std::string& name, const std::set<std::string>& refused,
                           bool is_framework = false, bool users = false) {
    auto target = std::make_unique<PricedTarget>(name, refused, is_framework, users);
    PricedTarget* const made = target.get();
    tools.targets.push_back(std::move(target));
    return made;
  }

  /// Node i reads what node i - 1 makes; its name is its operator and its number, "Relu3".
  void write_chain(const std::vector<std::string>& ops) {
    onnx::Messages nodes;
    const auto value = [&](size_t at) {
      return at == 0 ? "x" : at == ops.size() ? "y" : fmt::format("v{}", at);
    };
    for (size_t i = 0; i < ops.size(); ++i)
      nodes.push_back(onnx::node_message(ops[i], std::vector(ops[i] == "MatMul" ? 2 : 1, value(i)),
                                         {value(i + 1)}, {}, "", fmt::format("{}{}", ops[i], i)));
    std::ofstream(request.model_path, std::ios::binary)
        << onnx::model_message({.nodes = nodes,
                                .inputs = {onnx::value_message("x", DType::f32, {2, 2})},
                                .outputs = {onnx::value_message("y")}});
  }

  std::vector<Result<PlanTimes>> time(const std::vector<TemporaryFile>& programs) {
    ++timed;
    programs_run += programs.size();
    std::vector<Result<PlanTimes>> times;
    for (const TemporaryFile& file : programs) times.push_back(time_one(file.path()));
    return times;
  }

  Result<PlanTimes> time_one(const std::string& path) {
    const fbs::ProgramT program = TRY(read_program(path)).description;
    std::vector<int64_t> regions(program.regions.size(), 0);
    PlanTimes times;
    for (const auto& node : program.nodes) {
      const std::string& backend = program.regions[node->region]->backend;
      const int64_t price = prices.at({backend, node->op});
      regions[node->region] += price;
      const auto lie = told.find(node->name);
      if (has_profile)
        times.kernels.push_back(
            {node->region, node->name + ": " + node->op, lie == told.end() ? price : lie->second});
    }
    int64_t whole = 0;
    for (int64_t region : regions) {
      whole += region + region_ns;
      times.regions.push_back(summarize_rounds({region}));
    }
    if (stretch) whole = stretch(program, whole);
    if (whole < 0) return fail("it does not run");
    if (is_wrong && is_wrong(program)) times.fault = "output 'y': element 3 is 7, want 2";
    times.whole = summarize_rounds({whole});
    return times;
  }

  struct Outcome {
    std::string regions;  // "own framework own": their backends in order
    std::vector<std::string> reasons;
    std::optional<PlanReport> report;
  };

  Outcome compile() {
    const Result<CompileResult> result = compile_model(request, tools);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return {};
    const CompiledFunction& function = result->functions[0];
    return {regions(function), function.chosen.plan.placement.reason, function.chosen.report};
  }

  static std::string regions(const CompiledFunction& function) {
    std::string text;
    for (const Region& region : function.chosen.plan.partition.regions)
      text += (text.empty() ? "" : " ") + function.problem.targets[region.target].backend->name();
    return text;
  }

  std::string bytes() const {
    std::ifstream file(request.program_path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  CompileRequest request;
  BackendRegistry tools;
  PricedTarget* framework = nullptr;
  std::map<std::pair<std::string, std::string>, int64_t> prices = {
      {{"framework", "Exp"}, 20'000}, {{"own", "Relu"}, 120'000},        {{"framework", "Relu"}, 50'000},
      {{"own", "Sqrt"}, 100'000},     {{"framework", "Sqrt"}, 900'000},  {{"users", "Relu"}, 120'000},
      {{"own", "MatMul"}, 100'000},   {{"framework", "MatMul"}, 100'000}};
  /// What a whole run takes in truth; below 0 it fails.
  std::function<int64_t(const fbs::ProgramT&, int64_t)> stretch;
  std::function<bool(const fbs::ProgramT&)> is_wrong;  // computes something else than the others
  bool has_profile = false;                            // kernels are reported
  std::map<std::string, int64_t> told;  // what a profile says of a node instead of what it takes
  int timed = 0;                        // calls of the clock
  size_t programs_run = 0;              // in all of them
  int64_t probe = 1000;                 // how fast the machine is today
  int probed = 0;                       // how often that was measured

 private:
  const test::TestFolder temporary_;
  const std::string folder_ = temporary_.path().string();
};

std::vector<std::string> repeat(const std::vector<std::string>& ops, size_t times) {
  std::vector<std::string> all;
  for (size_t i = 0; i < times; ++i) all.insert(all.end(), ops.begin(), ops.end());
  return all;
}

/// Is any of the program's regions of the backend?
bool uses(const fbs::ProgramT& program, const std::string& backend) {
  return std::ranges::any_of(program.regions, [&](const auto& region) { return region->backend == backend; });
}

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
  told["Relu0"] = 300'000;  // so that it and the first product seem to take as long as all others
  write_chain({"Relu", "MatMul", "MatMul", "MatMul", "MatMul", "MatMul"});
  const Result<CompileResult> result = compile_model(request, tools);
  ASSERT_TRUE(result) << result.error().message;
  const CompiledFunction& function = result->functions[0];
  EXPECT_EQ(function.chosen.plan.placement.stage, (std::vector<uint32_t>{0, 0, 0, 1, 1, 1}));
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
  const Result<CompileResult> result = compile_model(request, tools);
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
  framework->set_code_generation(2);
  compile();
  EXPECT_EQ(timed, 4);
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
  request.pins = {{"Sqrt3", "framework@cpu"}};  // the framework alone is a rival again
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
  tools.targets.pop_back();
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
  EXPECT_EQ(programs_run, 2u + 3u) << "whole plans, but none for its parts alone";
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

TEST_F(PlanChoice, NoTimeIsNotAnError) {
  write_chain({"Relu", "Exp"});
  request.tune_seconds = 1e-9;
  EXPECT_EQ(compile().report->disabled_reason, "the time to measure is over (--tune-seconds)");
  EXPECT_EQ(timed, 0);
}

TEST_F(PlanChoice, AnIslandOnAnotherDeviceIsNone) {
  request.devices = {"cpu", "accel=sim:0"};
  request.pins = {{"Exp*", "framework@accel"}};
  write_chain({"Exp", "Relu", "Exp"});
  const auto result = compile();
  EXPECT_EQ(result.report->dissolved, 1) << "all in framework@accel, not as an island";
  EXPECT_EQ(result.reasons[1].substr(0, 16), "all in framework");
}

}  // namespace
}  // namespace intarsia
