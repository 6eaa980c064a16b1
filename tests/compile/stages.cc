// Programs with stages: their sessions, run one after the other, compute what the whole computes, bit for
// bit.
//
// Covers: src/compile/ build_function.cc emit_program.cc compile_model.cc emit_functions.cc
// import_function.cc program_memory.cc
#include "backends/reference/load.h"
#include "backends/reference/target.h"
#include "plan/choose/plan_file.h"
#include "report/explanation.h"
#include "tests/support/staged_model.h"

namespace intarsia {
namespace {

class StagedProgram : public StagedModel {
 protected:
  StagedProgram() { services.backends.push_back(make_reference_target()); }
};

TEST_F(StagedProgram, StagesInTurnEqualTheWhole) {
  for (const std::vector<std::string>& cuts :
       std::vector<std::vector<std::string>>{{"r"}, {"c2"}, {"sum"}, {"r", "sum"}, {"c1", "r", "c2", "c3"}}) {
    request.cuts = cuts;
    compile();
    EXPECT_EQ(compare_with_whole(reference_run_backend()), cuts.size() + 1);
  }
}

TEST_F(StagedProgram, OnExecutorsOfTheirOwnAndOnOtherMemories) {
  for (const std::vector<std::string>& devices :
       std::vector<std::vector<std::string>>{{"cpu:0", "cpu:1"}, {"sim:0", "cpu"}, {"cpu", "accel=sim:0"}}) {
    request.devices = devices;
    request.cuts = {"r"};
    const CompileResult result = compile();
    const std::vector<ChosenStage>& stages = result.functions[0].chosen.stages;
    EXPECT_EQ(stages[0].slot, 0u);
    EXPECT_EQ(stages[1].slot, 1u);
    EXPECT_EQ(compare_with_whole(reference_run_backend()), 2u);
  }
}

TEST_F(StagedProgram, ThePlannerDivides) {
  request.devices = {"cpu:0", "cpu:1"};
  request.stages = 2;
  const CompileResult result = compile();
  const CompiledFunction& function = result.functions[0];
  EXPECT_EQ(function.stage_report->guessed_reason, "--tune off");
  EXPECT_EQ(compare_with_whole(reference_run_backend()), 2u);
  request.stages.reset();
  compile();
  EXPECT_LE(compare_with_whole(reference_run_backend()), 2u);
}

TEST_F(StagedProgram, ConstantsAreInTheFileOnce) {
  request.objective = Objective::latency;
  const uint64_t whole = compile().constants_bytes;
  request.objective = Objective::throughput;
  request.cuts = {"r", "sum"};
  EXPECT_EQ(compile().constants_bytes, whole);
  const fbs::ProgramT program = std::move(read_program(request.program_path)->description);
  EXPECT_EQ(program.constants.size(), 3u);
  EXPECT_TRUE(program.needs.empty()) << "who knows no stages runs the whole";
}

TEST_F(StagedProgram, AllStagesCountAsMemory) {
  request.devices = {"accel=sim:0"};
  request.cuts = {"r"};
  const CompileResult result = compile();
  const fbs::ProgramT program = std::move(read_program(request.program_path)->description);
  uint64_t stages = 0;
  for (const auto& stage : program.functions[0]->stages)
    stages += stage->frames * stage->function->arena_bytes[1];
  EXPECT_EQ(program.functions[0]->stages[0]->frames, 2) << "one is copied while the other runs";
  EXPECT_EQ(program.functions[0]->stages[1]->frames, 1) << "on the host";
  EXPECT_EQ(result.functions[0].memory[1].arena, std::max(stages, program.functions[0]->arena_bytes[1]));
}

TEST_F(StagedProgram, APlanFileCarriesStages) {
  request.devices = {"cpu:0", "cpu:1"};
  request.cuts = {"sum"};
  request.saved_plan_path = folder_ / "plan.json";
  compile();
  request.cuts.clear();
  request.plan_path = std::exchange(request.saved_plan_path, "");
  compile();
  EXPECT_EQ(compare_with_whole(reference_run_backend()), 2u);
  std::map<std::string, SavedPlan> plans = *read_plan_file(request.plan_path);
  SavedPlan& plan = plans["main"];
  const SavedPlan good = plan;
  EXPECT_EQ(plan.stages[0].nodes, (std::vector<std::string>{"conv_c1", "relu", "conv_c2", "sum"}));
  const auto error_with = [&](const std::function<void(SavedPlan&)>& change) {
    plan = good;
    change(plan);
    EXPECT_TRUE(write_plan_file(request.plan_path, plans));
    const std::string message = error();
    return message.substr(message.find("': ") + 3);
  };
  EXPECT_EQ(error_with([](SavedPlan& p) { p.stages[1].nodes.pop_back(); }),
            "node 'last' is in none of the 2 stages");
  EXPECT_EQ(error_with([](SavedPlan& p) { p.stages[1].nodes.push_back("relu"); }),
            "node 'relu' is in two stages, or twice in one");
  EXPECT_EQ(error_with([](SavedPlan& p) { p.stages[1].nodes.push_back("none"); }),
            "stage 1: the model has no node 'none'");
  EXPECT_EQ(error_with([](SavedPlan& p) { p.stages[1].slot = "gpu"; }),
            "stage 1: no slot 'gpu'; -d has: cpu:0, cpu:1");
  EXPECT_EQ(error_with([](SavedPlan& p) { p.stages[1].executors = {"sim:0"}; }),
            "stage 1: executor 'sim:0' is not a cpu, as slot 'cpu:1' is");
  EXPECT_NE(error_with([](SavedPlan& p) { p.stages.clear(); }).find("has no stages"), std::string::npos);
  plan = good;
  std::swap(plan.stages[0].nodes, plan.stages[1].nodes);
  EXPECT_TRUE(write_plan_file(request.plan_path, plans));
  EXPECT_NE(error().find("which the later stage 2 makes"), std::string::npos) << error();
}

TEST_F(StagedProgram, TheExplanationTellsStages) {
  request.cuts = {"r"};
  compile();
  const Explanation explained = explain_program(*read_program(request.program_path));
  ASSERT_EQ(explained.stages.size(), 2u);
  EXPECT_EQ(explained.stages[0].outputs, (std::vector<std::string>{"r"}));
  EXPECT_EQ(explained.stages[1].inputs, (std::vector<std::string>{"late", "r"}));
}

}  // namespace
}  // namespace intarsia
