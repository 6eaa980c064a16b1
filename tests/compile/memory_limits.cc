// Memory limits that plans keep: what a session allocates, and whether a plan is found wherever there is one.
//
// Covers: src/plan/choose/ fit_memory.cc shrink_placement.cc src/compile/ program_memory.cc
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "backends/reference/evaluate.h"
#include "backends/reference/load.h"
#include "backends/reference/target.h"
#include "compile/compile_model.h"
#include "compile/program_memory.h"
#include "plan/choose/choose_plan.h"
#include "plan/partition/elide_copies.h"
#include "plan/partition/group_opaque_values.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "plan/place/place_nodes.h"
#include "program/read_program.h"
#include "report/explanation.h"
#include "runtime/session.h"
#include "tests/support/fake_target.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/random_graph.h"
#include "tests/support/test_folder.h"

namespace intarsia {
namespace {

/// Model of four products in a row, each with 64 KB of weights.
class LimitedProducts : public testing::Test {
 protected:
  LimitedProducts() {
    request.model_path = folder_ / "model.onnx";
    request.program_path = folder_ / "model.so";
    request.devices = {"accel=sim:0"};
    request.tune = Tune::off;
    services.backends.push_back(make_reference_target());
    services.evaluate = reference::evaluate_node;
    onnx::Messages nodes, weights;
    for (int i = 0; i < 4; ++i) {
      const std::string weight = fmt::format("w{}", i);
      nodes.push_back(onnx::node_message("MatMul", {value(i), weight}, {value(i + 1)}, {}, "",
                                         fmt::format("product{}", i)));
      std::vector<float> numbers(128 * 128, static_cast<float>(i + 1));
      const std::string raw(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
      weights.push_back(onnx::tensor_message(weight, DType::f32, {128, 128}, raw));
    }
    std::ofstream(request.model_path, std::ios::binary)
        << onnx::model_message({.nodes = nodes,
                                .initializers = weights,
                                .inputs = {onnx::value_message("x", DType::f32, {4, 128})},
                                .outputs = {onnx::value_message("y")}});
  }

  static std::string value(int i) { return i == 0 ? "x" : i == 4 ? "y" : fmt::format("v{}", i); }

  std::string error() const {
    const Result<CompileResult> result = compile_model(request, services);
    return result ? "" : result.error().message;
  }

  /// Returns the bytes that binding and a session allocate in the accelerator's memory.
  uint64_t allocated() const {
    const RunBackend backend = reference_run_backend();
    const auto bound = bind_program(*load_program(request.program_path, {&backend, 1}), {});
    EXPECT_TRUE(bound) << bound.error().message;
    const Result<Session> session = Session::create(*bound);
    const auto add = [](uint64_t sum, const Memory& memory) { return sum + memory.bytes(); };
    const auto& constants = (*bound)->memory;
    uint64_t bytes = std::accumulate(constants.begin(), constants.end(), uint64_t{0}, add);
    for (size_t space = 1; space < session->arenas().size(); ++space)
      bytes += session->arenas()[space].bytes();
    return bytes;
  }

  /// Counts the products on the accelerator.
  size_t on_accelerator(const CompileResult& result) const {
    const CompiledFunction& function = result.functions[0];
    return static_cast<size_t>(
        std::ranges::count_if(function.chosen.plan.placement.targets(), [&](uint32_t t) {
          return function.problem->slots[function.problem->targets[t].slot].name == "accel";
        }));
  }

  CompileRequest request;
  CompileServices services;

 private:
  const test::TestFolder folder_;
};

TEST_F(LimitedProducts, WhatShipsFits) {
  for (const auto& [limit, most] :
       std::map<uint64_t, size_t>{{400'000, 4}, {200'000, 2}, {80'000, 1}, {100, 0}}) {
    request.memory_limits = {{"accel", limit}};
    const Result<CompileResult> result = compile_model(request, services);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(on_accelerator(*result), most) << limit;
    EXPECT_LE(allocated(), limit);
    EXPECT_EQ(result->functions[0].memory[1].total(), allocated());
    const Explanation explained = explain_program(*read_program(request.program_path));
    EXPECT_EQ(explained.slots[0].memory->total(), allocated());
    EXPECT_LE(result->functions[0].chosen.plan.partition.regions.size(), 2u) << "one cut";
  }
}

TEST_F(LimitedProducts, TheHostHasALimitToo) {
  const std::string times = request.program_path + ".json";
  std::ofstream(times) << R"({"default": 1})";
  request.devices = {"cpu", "accel=sim:0?times=" + times};
  request.memory_limits = {{"cpu", 200'000}};
  const Result<CompileResult> result = compile_model(request, services);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(on_accelerator(*result), 2u);
  EXPECT_LE(result->functions[0].memory[0].total(), 200'000u);
  request.memory_limits.push_back({"accel", 100'000});
  EXPECT_NE(error(), "") << "both together are too small for 256 KB";
}

TEST_F(LimitedProducts, PinnedNodesNeedTheirMemory) {
  request.memory_limits = {{"accel", 100'000}};
  request.pins = {{"product[12]", "reference@accel"}};
  const std::string message = error();
  EXPECT_TRUE(message.starts_with("--memory accel: the limit is 97.7 KB, and the least that one of "))
      << message;
  EXPECT_TRUE(message.contains("plans that were tried, with the nodes that are pinned there, needs 1"))
      << message;
  EXPECT_TRUE(message.contains("128.0 KB of constants and ")) << message;
}

TEST_F(LimitedProducts, AGivenPlanIsNotChanged) {
  request.saved_plan_path = request.program_path + ".json";
  ASSERT_TRUE(compile_model(request, services));
  request.plan_path = std::exchange(request.saved_plan_path, "");
  request.memory_limits = {{"accel", 200'000}};
  EXPECT_TRUE(error().contains("whose nodes are to stay where they are, needs ")) << error();
  request.memory_limits = {{"accel", 300'000}};
  EXPECT_EQ(error(), "");
}

TEST_F(LimitedProducts, ASlotThatIsNotThereIsWrongUsage) {
  request.memory_limits = {{"gpu", 200'000}};
  EXPECT_EQ(error(), "--memory gpu: no such slot; --devices has: accel, cpu");
}

/// Random graph whose nodes have weights of different sizes, on two devices, one of them the host. Some nodes
/// run on only one of them.
struct RandomProblem {
  RandomProblem(std::mt19937& random, size_t max_nodes) {
    problem.graph = make_random_graph(random, random_options(random, max_nodes));
    for (Node& node : problem.graph.nodes) {
      node.op = random() % 5 == 0 ? "OnlyHere" : random() % 5 == 0 ? "OnlyThere" : "Foo";
      if (random() % 3 > 0) add_weight(node, random);
    }
    problem.slots = {{"cpu", "cpu", "cpu", 0}, {"accel", "sim", "sim:0", 1}};
    problem.spaces = {"cpu", "accel"};
    problem.targets = {{&here, 0, "here@cpu"}, {&there, 1, "there@accel"}};
    problem.space_of_target = {0, 1};
    const auto limit = [&] { return random() % 4 == 0 ? no_limit : 256 + 64 * (random() % 60); };
    problem.memory_limits = {limit(), limit()};
  }

  void add_weight(Node& node, std::mt19937& random) {
    const Tensor weight(DType::f32, {static_cast<int64_t>(16 * (1 + random() % 16))});
    const std::string name = "w" + node.name;
    weight.as<float>()[0] = static_cast<float>(random() % 1000);
    node.inputs.push_back(problem.graph.add_constant(name, weight));
  }

  Result<Plan> plan(Placement placement) const {
    Plan plan{std::move(placement), {}, {}};
    TRY(group_opaque_values(problem.graph, problem.targets, plan.placement));
    plan.partition = partition_graph(problem.graph, plan.placement);
    plan.steps = elide_copies(insert_copies(problem.graph, plan.partition, problem.space_of_target));
    return plan;
  }

  /// Returns the memory of a plan whose regions have the model's weights, and a workspace.
  std::vector<MemoryUse> memory_of(const Plan& plan) {
    CompiledRegions regions;
    for (const Region& region : plan.partition.regions) {
      CompiledRegion& compiled = regions.regions.emplace_back();
      compiled.workspace_bytes = 64 * region.nodes.size();
      std::set<ValueId> seen;
      for (NodeId node : region.nodes) {
        for (ValueId id : values_read(problem.graph.node(node))) {
          const std::optional<Tensor>& constant = problem.graph.value(id).constant;
          if (constant && seen.insert(id).second) compiled.constants.push_back(*constant);
        }
      }
    }
    const std::string name = "main";
    return *measure_memory({name, problem, plan, regions, std::nullopt}, digests);
  }

  bool fits(const Plan& plan) {
    const std::vector<MemoryUse> uses = memory_of(plan);
    return uses[0].total() <= problem.memory_limit(0) && uses[1].total() <= problem.memory_limit(1);
  }

  /// Returns the placement with this number: bit i is the target of node i. Returns nullopt if a target
  /// refuses its node.
  std::optional<Placement> placement(uint64_t number) const {
    std::vector<uint32_t> target_of;
    const size_t nodes = problem.graph.nodes.size();
    for (uint32_t i = 0; i < nodes; ++i) {
      const uint32_t target = number >> i & 1;
      if (!problem.targets[target].backend->supports(problem.graph, NodeId{i}, {}).yes) return std::nullopt;
      target_of.push_back(target);
    }
    return Placement(target_of);
  }

  bool any_fits() {
    for (uint64_t number = 0; number < uint64_t{1} << problem.graph.nodes.size(); ++number) {
      std::optional<Placement> one = placement(number);
      if (one && fits(*plan(std::move(*one)))) return true;
    }
    return false;
  }

  FakeTarget here{"here", {"Foo", "OnlyHere"}}, there{"there", {"Foo", "OnlyThere"}};
  PlanningProblem problem;
  ConstantDigests digests;
};

struct Outcomes {
  size_t moved = 0, impossible = 0;
};

/// Checks that the chosen plan fits, or that none does. `estimate`: what is known of a plan before it is
/// compiled.
void check_random_problem(RandomProblem& random_problem, const MeasureMemory& estimate, Outcomes& outcomes) {
  const PlanningProblem& problem = random_problem.problem;
  PlanTools tools{.disabled_reason = "no clock",
                  .replan = [&](Placement placement) { return random_problem.plan(std::move(placement)); }};
  tools.memory = {
      [&](const Plan& plan) -> Result<std::vector<MemoryUse>> { return random_problem.memory_of(plan); },
      estimate};
  const Placement placed = *place_nodes(problem.graph, problem.targets, {});
  const Plan plan = *random_problem.plan(placed);
  const Result<ChosenPlan> chosen = choose_plan(problem, plan, tools);
  if (!chosen) {
    ++outcomes.impossible;
    ASSERT_FALSE(random_problem.any_fits()) << chosen.error().message;
    return;
  }
  ASSERT_TRUE(random_problem.fits(chosen->plan));
  outcomes.moved += chosen->plan.placement.targets() != placed.targets();
  if (random_problem.fits(plan)) {
    EXPECT_EQ(chosen->plan.placement.targets(), placed.targets());
  }
}

TEST(MemoryLimitProperties, APlanThatFitsIsFoundIfThereIsOne) {
  Outcomes outcomes;
  for_each_seed(400, [&](std::mt19937& random) {
    RandomProblem problem(random, 8);
    check_random_problem(
        problem, [&](const Plan& plan) -> Result<std::vector<MemoryUse>> { return problem.memory_of(plan); },
        outcomes);
  });
  EXPECT_GT(outcomes.moved, 0u);
  EXPECT_GT(outcomes.impossible, 0u);
}

TEST(MemoryLimitProperties, AlsoWithBadEstimates) {
  Outcomes outcomes;
  for_each_seed(400, [&](std::mt19937& random) {
    RandomProblem problem(random, 6);
    const auto estimate = [&](const Plan& plan) -> Result<std::vector<MemoryUse>> {
      std::vector<MemoryUse> uses = problem.memory_of(plan);
      for (MemoryUse& use : uses) use = {use.constants / 2, 0};
      return uses;
    };
    check_random_problem(problem, estimate, outcomes);
  });
  EXPECT_GT(outcomes.moved, 0u);
  EXPECT_GT(outcomes.impossible, 0u);
}

}  // namespace
}  // namespace intarsia
