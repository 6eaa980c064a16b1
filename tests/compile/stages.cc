// Programs with stages: their sessions, one after the other, make what the whole makes, bit for bit.
//
// Covers: src/compile/ build_function.cc emit_program.cc compile_model.cc program_memory.cc
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "backends/reference/evaluate.h"
#include "backends/reference/load.h"
#include "backends/reference/target.h"
#include "compile/compile_model.h"
#include "compile/explanation.h"
#include "plan/plan_file.h"
#include "program/read_program.h"
#include "runtime/session.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/test_folder.h"

namespace intarsia {
namespace {

/// x -> conv -> relu (r) -> conv (c2) -> sum = c2 + r -> conv -> y; late is added at the end; r leaves early.
class StagedProgram : public testing::Test {
 protected:
  StagedProgram() {
    request.model_path = folder_ / "model.onnx";
    request.program_path = folder_ / "model.so";
    request.tune = Tune::off;
    request.objective = Objective::throughput;
    tools.targets.push_back(make_reference_target());
    tools.evaluate = reference::evaluate_node;
    onnx::Messages nodes, weights;
    onnx::Message pads = onnx::attribute_message("pads", onnx::attribute::Type::ints);
    for (int i = 0; i < 4; ++i) pads.number(onnx::attribute::ints, 1);
    const auto convolve = [&](const std::string& from, const std::string& to) {
      const std::string weight = "w_" + to;
      nodes.push_back(onnx::node_message("Conv", {from, weight}, {to}, {pads.bytes}, "", "conv_" + to));
      std::vector<float> numbers(4 * 4 * 9);
      for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<float>((i * 7 + weights.size()) % 11) / 11.0f - 0.4f;
      const std::string raw(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
      weights.push_back(onnx::tensor_message(weight, DType::f32, {4, 4, 3, 3}, raw));
    };
    convolve("x", "c1");
    nodes.push_back(onnx::node_message("Relu", {"c1"}, {"r"}, {}, "", "relu"));
    convolve("r", "c2");
    nodes.push_back(onnx::node_message("Add", {"c2", "r"}, {"sum"}, {}, "", "sum"));
    convolve("sum", "c3");
    nodes.push_back(onnx::node_message("Add", {"c3", "late"}, {"y"}, {}, "", "last"));
    const auto input = [](const char* name) { return onnx::value_message(name, DType::f32, {1, 4, 6, 6}); };
    std::ofstream(request.model_path, std::ios::binary)
        << onnx::model_message({.nodes = nodes,
                                .initializers = weights,
                                .inputs = {input("x"), input("late")},
                                .outputs = {onnx::value_message("y"), onnx::value_message("r")}});
  }

  CompileResult compile() {
    Result<CompileResult> result = compile_model(request, tools);
    EXPECT_TRUE(result) << result.error().message;
    return std::move(*result);
  }

  std::string error() const {
    const Result<CompileResult> result = compile_model(request, tools);
    return result ? "" : result.error().message;
  }

  /// Runs a function with the values by name, and adds what it makes.
  static void run(Session& session, std::map<std::string, Tensor>& values) {
    const fbs::FunctionT& function = *session.program().functions[0].function;
    std::vector<NamedTensor> inputs, outputs;
    for (uint32_t id : function.inputs) {
      const std::string& name = function.values[id]->name;
      ASSERT_TRUE(values.contains(name)) << name;
      inputs.push_back({name, values.at(name).view(), nullptr});
    }
    for (uint32_t id : function.outputs) {
      const fbs::ValueT& value = *function.values[id];
      const auto [at, is_new] =
          values.insert_or_assign(value.name, Tensor(static_cast<DType>(value.dtype), value.dims));
      outputs.push_back({value.name, at->second.view(), nullptr});
    }
    const Status status = session.run("", inputs, outputs);
    ASSERT_TRUE(status) << status.error().message;
  }

  static std::map<std::string, Tensor> filled_inputs() {
    std::map<std::string, Tensor> values;
    for (const char* name : {"x", "late"}) {
      Tensor tensor(DType::f32, {1, 4, 6, 6});
      float next = *name == 'x' ? -2 : 3;
      for (float& number : tensor.as<float>()) number = next = next * 0.7f + 0.3f;
      values.emplace(name, std::move(tensor));
    }
    return values;
  }

  /// All stages in turn, against the whole; gives how many stages there are.
  size_t compare_with_whole() const {
    const RunBackend backend = reference_run_backend();
    const auto program = load_program(request.program_path, {&backend, 1});
    EXPECT_TRUE(program) << program.error().message;
    std::map<std::string, Tensor> whole = filled_inputs(), parts = filled_inputs();
    Result<Session> session = Session::create(bind_program(*program, {}).value());
    run(*session, whole);
    const auto& stages = (*program)->description().functions[0]->stages;
    for (uint32_t stage = 0; stage < stages.size(); ++stage) {
      const auto bound = bind_program(*program, {.devices = {}, .stage = StageChoice{.stage = stage}});
      EXPECT_TRUE(bound) << bound.error().message;
      Result<Session> part = Session::create(*bound);
      run(*part, parts);
    }
    for (const char* name : {"y", "r"}) {
      const TensorView one = whole.at(name).view(), other = parts.at(name).view();
      EXPECT_EQ(std::memcmp(one.data, other.data, one.bytes()), 0) << name;
    }
    return stages.size();
  }

  CompileRequest request;
  BackendRegistry tools;
  const test::TestFolder folder_;
};

TEST_F(StagedProgram, StagesInTurnEqualTheWhole) {
  for (const std::vector<std::string>& cuts :
       std::vector<std::vector<std::string>>{{"r"}, {"c2"}, {"sum"}, {"r", "sum"}, {"c1", "r", "c2", "c3"}}) {
    request.cuts = cuts;
    compile();
    EXPECT_EQ(compare_with_whole(), cuts.size() + 1);
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
    EXPECT_EQ(compare_with_whole(), 2u);
  }
}

TEST_F(StagedProgram, ThePlannerDivides) {
  request.devices = {"cpu:0", "cpu:1"};
  request.stages = 2;
  const CompileResult result = compile();
  const CompiledFunction& function = result.functions[0];
  EXPECT_EQ(function.stage_report->guessed_reason, "--tune off");
  EXPECT_EQ(compare_with_whole(), 2u);
  request.stages.reset();
  compile();
  EXPECT_LE(compare_with_whole(), 2u);
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
  for (const auto& stage : program.functions[0]->stages) stages += stage->function->arena_bytes[1];
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
  EXPECT_EQ(compare_with_whole(), 2u);
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
  const Explanation explained = explain_program(read_program(request.program_path)->description);
  ASSERT_EQ(explained.stages.size(), 2u);
  EXPECT_EQ(explained.stages[0].outputs, (std::vector<std::string>{"r"}));
  EXPECT_EQ(explained.stages[1].inputs, (std::vector<std::string>{"late", "r"}));
}

}  // namespace
}  // namespace intarsia
