// Graphs divided into stages: by the user's cuts, and by what parts take on the available executors.
//
// Covers: src/plan/stages/ choose_stages.cc cut_graph.cc list_teams.cc candidate_partitionings.cc
// place_stages.cc stage_costs.cc stage_frames.cc stage_planner.cc stage_steps.cc time_stages.cc
// staged_plan.h src/plan/ chosen_stage.h
#include "plan/stages/choose_stages.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

#include "graph/parse_graph.h"
#include "plan/partition/elide_copies.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "plan/stages/candidate_partitionings.h"
#include "plan/stages/cut_graph.h"
#include "plan/stages/split_stages.h"
#include "plan/stages/stage_steps.h"
#include "tests/support/fake_target.h"
#include "tests/support/random_graph.h"

namespace intarsia {
namespace {

/// Graph x -> a -> b -> c -> y, where c also reads a, and aux leaves after b.
constexpr const char* skipping = R"(graph "g" opsets {"": 17}
input %x : f32[4,4]
%a = MatMul(%x, %x) "na"
%b = MatMul(%a, %a) "nb"
%aux = Relu(%b) "naux"
%c = Add(%b, %a) "nc"
%y = MatMul(%c, %x) "ny"
output %y
output %b
output %aux)";

std::string text_of(const Result<std::vector<uint32_t>>& stages) {
  return stages ? fmt::format("{}", fmt::join(*stages, " ")) : stages.error().message;
}

std::string names(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> list;
  for (ValueId id : values) list.push_back(graph.value(id).name);
  return fmt::format("{}", fmt::join(list, " "));
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(CutGraph, AStageIsWhatItsValueDependsOn) {
  const Graph graph = parse_graph(skipping).value();
  EXPECT_EQ(text_of(cut_graph(graph, {"b"})), "0 0 1 1 1");
  EXPECT_EQ(text_of(cut_graph(graph, {"c", "a"})), "0 1 2 1 2") << "in the order of the graph";
}

TEST(CutGraph, WhatCutsNothingOffIsAnError) {
  const Graph graph = parse_graph(skipping).value();
  EXPECT_HAS(text_of(cut_graph(graph, {"z"})), "--cut z: the model has no such value");
  EXPECT_HAS(text_of(cut_graph(graph, {"x"})), "--cut x: it is an input of the model, which no node makes");
  EXPECT_HAS(text_of(cut_graph(graph, {"b", "b"})), "all before it is before --cut b, too");
  const Graph chain = parse_graph(R"(graph "g" opsets {"": 17}
input %x : f32[4]
%a = Relu(%x) "na"
%y = Relu(%a) "ny"
output %y)")
                          .value();
  EXPECT_HAS(text_of(cut_graph(chain, {"y"})), "--cut y: it cuts nothing off: every node is before it");
}

TEST(CutGraph, AGroupIsNotTorn) {
  const Graph graph = parse_graph(skipping).value();
  Placement placement(std::vector<uint32_t>(graph.nodes.size(), 0));
  placement.divide(*cut_graph(graph, {"b"}));
  EXPECT_TRUE(verify_stage_order(graph, placement));
  placement.nodes[3].group = 1;
  const Status torn = verify_stage_order(graph, placement);
  ASSERT_FALSE(torn);
  EXPECT_HAS(torn.error().message, "nodes 'nb' and 'nc' are in the stages 1 and 2, but pass values");
  placement.leave_groups();
  placement.divide({1, 0, 0, 1, 1});
  EXPECT_HAS(verify_stage_order(graph, placement).error().message,
             "stage 1 reads 'a', which the later stage 2 makes");
}

/// Library that the process can have on only one core set.
class OnePoolTarget : public FakeTarget {
 public:
  OnePoolTarget() : FakeTarget("library", {"MatMul"}, true) { info_.has_one_pool = true; }
};

/// Fixture with one backend on several slots, all on the host unless specified otherwise.
class Staging : public testing::Test {
 protected:
  void make(const std::string& text, uint32_t slots) {
    problem_.graph = parse_graph(text).value();
    for (uint32_t slot = 0; slot < slots; ++slot) add_slot("cpu", 0);
    placement_ = Placement(std::vector<uint32_t>(problem_.graph.nodes.size(), 0));
  }

  void add_slot(const std::string& kind, uint32_t space) {
    const auto slot = static_cast<uint32_t>(problem_.slots.size());
    const std::string device = fmt::format("{}:{}", kind, slot);
    problem_.slots.push_back({device, kind, device, space});
    if (kind == "cpu") problem_.slots.back().core_set = *CoreSet::parse(std::to_string(slot));
    if (space == problem_.spaces.size()) problem_.spaces.push_back(device);
    problem_.targets.push_back({&backend_, slot, "fake@" + device});
    problem_.space_of_target.push_back(space);
  }

  Result<Plan> plan(Placement placement) const {
    Plan plan{std::move(placement), {}, {}};
    TRY(verify_stage_order(problem_.graph, plan.placement));
    plan.partition = partition_graph(problem_.graph, plan.placement);
    TRY(verify_partition(problem_.graph, plan.placement, plan.partition));
    plan.steps = elide_copies(insert_copies(problem_.graph, plan.partition, problem_.space_of_target));
    TRY(verify_steps(problem_.graph, plan.partition, problem_.space_of_target, plan.steps));
    return plan;
  }

  /// Returns costs where each node is a segment, and takes equally long on every slot.
  SegmentCosts costs(const std::vector<int64_t>& nanoseconds) const {
    SegmentCosts costs;
    for (uint32_t i = 0; i < nanoseconds.size(); ++i) {
      costs.segments.push_back({NodeId{i}});
      costs.times.emplace_back(problem_.targets.size(), nanoseconds[i]);
    }
    costs.links.assign(problem_.spaces.size(), std::vector<Link>(problem_.spaces.size(), Link{10, 0}));
    return costs;
  }

  Result<StagedPlan> choose(const StageDemand& demand, const std::vector<int64_t>& nanoseconds) const {
    ChosenPlan chosen{.plan = TRY(plan(placement_)), .report = std::nullopt};
    chosen.costs = costs(nanoseconds);
    return choose_stages(problem_, chosen, demand,
                         {.disabled_reason = "no clock",
                          .replan = [&](Placement placement) { return plan(std::move(placement)); }});
  }

  /// Returns the stages as "cpu:0: na nb | cpu:1, cpu:2: nc", or the error.
  std::string stages(const StageDemand& demand, const std::vector<int64_t>& nanoseconds) const {
    const Result<StagedPlan> staged = choose(demand, nanoseconds);
    if (!staged) return staged.error().message;
    std::string text;
    for (uint32_t s = 0; s < staged->stages.size(); ++s) {
      text += fmt::format("{}{}:", s == 0 ? "" : " | ", fmt::join(staged->stages[s].executors, ", "));
      for (const Region& region : staged->plan.partition.regions)
        for (NodeId node : region.nodes)
          if (region.stage == s) text += " " + problem_.graph.node(node).name;
    }
    return text;
  }

  FakeTarget backend_{"fake", {"MatMul", "Relu", "Add", "Foo"}};
  PlanningProblem problem_;
  Placement placement_;
};

constexpr const char* chain_of_four = R"(graph "g" opsets {"": 17}
input %x : f32[4,4]
%a = MatMul(%x, %x) "a"
%b = MatMul(%a, %a) "b"
%c = MatMul(%b, %b) "c"
%y = MatMul(%c, %c) "d"
output %y)";

TEST_F(Staging, ValuesThatSkipAStageLeaveTheirMakerOnce) {
  make(skipping, 3);
  placement_.divide(*cut_graph(problem_.graph, {"a", "b"}));
  const Plan staged = plan(placement_).value();
  const std::vector<StageSteps> stages =
      list_stages(problem_.graph, staged.partition, problem_.space_of_target);
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(names(problem_.graph, stages[0].inputs), "x");
  EXPECT_EQ(names(problem_.graph, stages[0].outputs), "a");
  EXPECT_EQ(names(problem_.graph, stages[1].inputs), "a");
  EXPECT_EQ(names(problem_.graph, stages[1].outputs), "b") << "an output, and read by the last";
  EXPECT_EQ(names(problem_.graph, stages[2].inputs), "x a b") << "x enters again, a skipped a stage";
  EXPECT_EQ(names(problem_.graph, stages[2].outputs), "aux y");
}

TEST_F(Staging, ByHandOneSlotAStageOrOneForAll) {
  make(chain_of_four, 2);
  EXPECT_EQ(stages({.cuts = {"a"}}, {1, 1, 1, 1}), "cpu:0: a | cpu:1: b c d");
  EXPECT_HAS(stages({.cuts = {"a", "b"}}, {1, 1, 1, 1}), "--cut: 3 stages for 2 slots (cpu:0, cpu:1): name");
  EXPECT_EQ(choose({.cuts = {"a"}}, {1, 2, 3, 4})->stages[1].predicted, 9);
  problem_.slots.pop_back();
  problem_.targets.pop_back();
  EXPECT_EQ(stages({.cuts = {"a", "b"}}, {1, 1, 1, 1}), "cpu:0: a | cpu:0: b | cpu:0: c d");
}

TEST_F(Staging, APinnedNodeStaysWhereItIs) {
  make(chain_of_four, 2);
  placement_.nodes[2].pinned = true;
  const Result<StagedPlan> staged = choose({.cuts = {"a"}}, {1, 1, 1, 1});
  EXPECT_EQ(staged->plan.placement.targets(), (std::vector<uint32_t>{0, 1, 0, 1}));
}

TEST_F(Staging, ALibraryWithOnePoolMovesAsAWhole) {
  make(chain_of_four, 2);
  const OnePoolTarget library;
  for (uint32_t slot : {0u, 1u}) {
    problem_.targets.push_back({&library, slot, fmt::format("library@cpu:{}", slot)});
    problem_.space_of_target.push_back(0);
  }
  placement_ = Placement({0, 2, 2, 0});
  const auto targets = [&](const std::string& cut) {
    return choose({.cuts = {cut}}, {1, 1, 1, 1})->plan.placement.targets();
  };
  EXPECT_EQ(targets("a"), (std::vector<uint32_t>{0, 3, 3, 1}));
  EXPECT_EQ(targets("b"), (std::vector<uint32_t>{0, 2, 1, 1})) << "the library is in the first stage, too";
}

TEST_F(Staging, TheSlowestStageIsAsFastAsCanBe) {
  make(chain_of_four, 2);
  EXPECT_EQ(stages({.count = 2}, {100, 200, 300, 500}), "cpu:0: a b c | cpu:1: d");
  EXPECT_EQ(stages({.count = 2}, {500, 300, 200, 100}), "cpu:0: a | cpu:1: b c d");
  EXPECT_EQ(stages({.count = 1}, {1, 2, 3, 4}), "cpu:0, cpu:1: a b c d") << "replicas of the whole";
}

TEST_F(Staging, ExactlySoManyStages) {
  make(chain_of_four, 5);
  EXPECT_EQ(stages({.count = 4}, {1, 1, 1, 900}), "cpu:0: a | cpu:1: b | cpu:2: c | cpu:3, cpu:4: d");
  EXPECT_EQ(stages({.count = 5}, {1, 1, 1, 1}),
            "--stages 5: the model has 4 parts that can be apart; want at most as many stages");
  EXPECT_EQ(
      stages({.count = 6}, {1, 1, 1, 1}),
      "--stages 6: at most 5 executors work at once; name as many as stages with -d, as in -d cpu:0,cpu:1");
}

TEST_F(Staging, ReplicasWhereTheModelCannotBeBalanced) {
  make(chain_of_four, 2);
  EXPECT_EQ(stages({}, {1, 1, 1, 900}), "cpu:0, cpu:1: a b c d");
  const Result<StagedPlan> staged = choose({}, {1, 1, 1, 900});
  EXPECT_EQ(staged->report.chosen, "2 replicas of the whole: cpu:0, cpu:1");
  ASSERT_EQ(staged->report.compared.size(), 2u);
  EXPECT_EQ(staged->report.compared[0].nanoseconds, 452) << "903 on two";
  EXPECT_EQ(staged->report.compared[1].nanoseconds, 900) << "2 stages";
  EXPECT_EQ(StageReport::interval(staged->stages, &ChosenStage::predicted), 452);
}

TEST_F(Staging, CoresAreHandedOut) {
  make(chain_of_four, 2);
  add_slot("cpu", 0);
  problem_.slots[2].device = "cpu:0-1";
  problem_.slots[2].core_set = *CoreSet::parse("0-1");
  const auto reports = [&](int64_t on_two) {
    ChosenPlan chosen{.plan = *plan(placement_), .report = std::nullopt};
    chosen.costs = costs({100, 100, 100, 900});
    for (auto& times : chosen.costs->times) times[2] = times[0] * on_two / 100;
    const auto replan = [&](Placement placement) { return plan(std::move(placement)); };
    return choose_stages(problem_, chosen, {}, {.disabled_reason = "no clock", .replan = replan})->report;
  };
  std::vector<std::string> compared;
  for (const ComparedStages& one : reports(60).compared) compared.push_back(one.name);
  EXPECT_EQ(compared, (std::vector<std::string>{"2 replicas of the whole: cpu:0, cpu:1",
                                                "2 stages: cpu:0 | cpu:1", "the whole on cpu:2"}));
  EXPECT_EQ(reports(60).chosen, "2 replicas of the whole: cpu:0, cpu:1");
  EXPECT_EQ(reports(40).chosen, "the whole on cpu:2");
}

TEST_F(Staging, WhatIsBestWithOtherCoresNeedNotBeBestWithThese) {
  make(chain_of_four, 2);
  const FakeTarget other("other", {"MatMul"});
  problem_.targets.push_back({&other, 0, "other@cpu:0"});
  problem_.targets.push_back({&other, 1, "other@cpu:1"});
  problem_.space_of_target = {0, 0, 0, 0};
  ChosenPlan chosen{.plan = *plan(placement_), .report = std::nullopt};
  chosen.costs = costs({100, 100, 100, 100});
  for (auto& times : chosen.costs->times) times[2] = times[3] = 60;
  const auto replan = [&](Placement placement) { return plan(std::move(placement)); };
  const StageDemand two{.cuts = {}, .count = 2};
  const auto staged = choose_stages(problem_, chosen, two, {.disabled_reason = "no clock", .replan = replan});
  EXPECT_EQ(staged->plan.placement.targets(), (std::vector<uint32_t>{2, 2, 3, 3}));
  EXPECT_EQ(staged->stages[0].predicted, 120);
}

/// Checks a library on one core set; on the other the nodes run in another backend.
TEST_F(Staging, WhatAllCoresHaveMakesReplicas) {
  make(chain_of_four, 2);
  const OnePoolTarget library;
  problem_.targets.push_back({&library, 0, "library@cpu:0"});
  problem_.space_of_target.push_back(0);
  const auto compare = [&](int64_t on_library) {
    ChosenPlan chosen{.plan = *plan(placement_), .report = std::nullopt};
    chosen.costs = costs({100, 100, 100, 700});
    for (auto& times : chosen.costs->times) times = {times[0], times[1] + 1, times[0] * on_library / 100};
    const auto replan = [&](Placement placement) { return plan(std::move(placement)); };
    return choose_stages(problem_, chosen, {}, {.disabled_reason = "no clock", .replan = replan})->report;
  };
  const StageReport slow = compare(90);
  EXPECT_EQ(slow.chosen, "2 replicas of the whole: cpu:0, cpu:1");
  ASSERT_EQ(slow.compared.size(), 2u);
  EXPECT_EQ(slow.compared[0].nanoseconds, 630) << "the library has d, the rest is on the other";
  EXPECT_EQ(slow.compared[1].nanoseconds, 501) << "1000 on one core, 1004 on the other";
  EXPECT_EQ(compare(40).chosen, "2 stages: cpu:1 | cpu:0");
}

/// Checks memory limits where values and workspaces are known only of a finished plan; each node needs 60
/// bytes.
TEST_F(Staging, AStageKeepsItsMemory) {
  make(chain_of_four, 1);
  add_slot("sim", 1);
  problem_.memory_limits = {no_limit, 200};
  ChosenPlan chosen{.plan = *plan(placement_), .report = std::nullopt};
  chosen.costs = costs({100, 100, 100, 100});
  for (auto& times : chosen.costs->times) times[1] = 10;
  PlanTools tools{.disabled_reason = "no clock",
                  .replan = [&](Placement placement) { return plan(std::move(placement)); }};
  const auto nodes_on_device = [](const Plan& made) {
    return std::ranges::count(made.placement.targets(), 1u);
  };
  const auto measure = [&](const Plan& made) -> Result<std::vector<MemoryUse>> {
    return std::vector<MemoryUse>{{}, {0, 60 * static_cast<uint64_t>(nodes_on_device(made))}};
  };
  EXPECT_EQ(nodes_on_device(choose_stages(problem_, chosen, {}, tools)->plan), 4);
  tools.memory = {measure, measure,
                  [&](const Plan& made, const std::vector<ChosenStage>&) { return measure(made); }};
  const Result<StagedPlan> staged = choose_stages(problem_, chosen, {}, tools);
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_LE(nodes_on_device(staged->plan), 3);
}

TEST_F(Staging, AMeasuredPartRunsOnlyWhereItWas) {
  make(chain_of_four, 1);
  add_slot("sim", 1);
  ChosenPlan chosen{.plan = *plan(placement_), .report = std::nullopt};
  chosen.costs = costs({100, 100, 100, 100});
  for (size_t s : {0u, 1u}) chosen.costs->times[s][1] = never;
  const ExecutorKinds kinds = find_executor_kinds(problem_, placement_, *chosen.costs);
  ASSERT_EQ(kinds.size(), 2u) << "another memory, other times";
  const auto candidates = find_partitionings(problem_, placement_, *chosen.costs, kinds,
                                             std::vector<StageMemory>(2), std::nullopt);
  const Partitioning& best = find_best_partitioning(candidates->list);
  ASSERT_EQ(best.stages.size(), 2u);
  EXPECT_EQ(best.stages[1].segments, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(best.max_load, 200) << "its copies are made beside the next frame";
  const std::vector<StageMemory> tight(2, {.has_spare_frame = false});
  const auto alone = find_partitionings(problem_, placement_, *chosen.costs, kinds, tight, std::nullopt);
  EXPECT_EQ(find_best_partitioning(alone->list).max_load, 220) << "a copy in, and one out";
}

/// Returns kinds by team, as "0 0 | 1".
std::string text_of(const ExecutorTeams& teams) {
  std::vector<std::string> texts;
  for (const ExecutorTeam& team : teams) texts.push_back(fmt::format("{}", fmt::join(team.members, " ")));
  return fmt::format("{}", fmt::join(texts, " | "));
}

std::vector<std::string> list_texts(const std::vector<TeamCandidates>& kinds,
                                    std::optional<uint32_t> count = {}) {
  std::vector<std::string> texts;
  for (const ExecutorTeams& teams : list_teams(kinds, count, 64).lists) texts.push_back(text_of(teams));
  return texts;
}

TEST(ListTeams, AllWaysOnce) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(list_texts({{.count = 3}}), (Texts{"0 0 0", "0 0 | 0", "0 | 0 | 0"}));
  EXPECT_EQ(list_texts({{1, 0}, {1, 0}}), (Texts{"0 1", "0 | 1"})) << "unlike ones of a family";
  EXPECT_EQ(list_texts({{1, 0}, {1, 1}}), (Texts{"0 | 1"})) << "of two families";
  EXPECT_EQ(list_texts({{.count = 3}}, 2), (Texts{"0 0 | 0", "0 | 0"})) << "may leave one out";
  EXPECT_TRUE(list_teams({{.count = 8}}, {}, 64).is_complete);
  const TeamLists many = list_teams({{.count = 40}}, {}, 64);
  EXPECT_FALSE(many.is_complete);
  EXPECT_EQ(many.lists.size(), 40u) << "of about the same size";
}

/// Checks devices of one kind with memories of their own, one of which is slower.
TEST_F(Staging, UnlikeReplicas) {
  make(chain_of_four, 0);
  add_slot("cpu", 0);
  add_slot("sim", 1);
  add_slot("sim", 2);
  ChosenPlan chosen{.plan = *plan(placement_), .report = std::nullopt};
  chosen.costs = costs({100, 200, 300, 400});
  for (auto& times : chosen.costs->times) times = {100 * times[0], times[0], times[0] * 5 / 4};
  const auto replan = [&](Placement placement) { return plan(std::move(placement)); };
  const auto staged = choose_stages(problem_, chosen, {}, {.disabled_reason = "no clock", .replan = replan});
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ(staged->report.chosen, "2 replicas of the whole: sim:1, sim:2");
  EXPECT_EQ(staged->stages[0].predicted, 1000);
  EXPECT_EQ(StageReport::interval(staged->stages, &ChosenStage::predicted), 556) << "1000 and 1250";
  EXPECT_EQ(staged->stages[0].frames, 2u);
}

/// Checks that compile and plan_workload, which both call split_stages, find the same result on one graph.
TEST_F(Staging, TheSolverIsThatOfPublicWorkloads) {
  make(chain_of_four, 2);
  StageProblem workload;
  workload.devices = {{.name = "cpu"}};
  workload.teams = {{{0}, 2}};
  for (double time : {40, 10, 20, 50}) workload.nodes.push_back({{time}, 0});
  for (uint32_t i = 0; i < 3; ++i) workload.values.push_back({i, {i + 1}, 0});
  const StageSplit split = split_stages(workload);
  const Result<StagedPlan> staged = choose({.count = 2}, {40, 10, 20, 50});
  ASSERT_TRUE(staged) << staged.error().message;
  EXPECT_EQ(StageReport::interval(staged->stages, &ChosenStage::predicted), std::lround(split.max_load));
  EXPECT_EQ(staged->report.lower_bound, std::lround(split.lower_bound));
}

/// Fixture with a chain of products on a processor and two devices of random times and links, and its best
/// division.
class RandomStaging : public Staging {
 protected:
  static constexpr uint32_t slots = 3;

  void make_random(std::mt19937& random) {
    problem_ = {}, placement_ = {};
    std::string text = "graph \"g\" opsets {\"\": 17}\ninput %v0 : f32[4,4]\n";
    const size_t nodes = 2 + random() % 4;
    for (size_t i = 0; i < nodes; ++i)
      text += fmt::format("%v{} = MatMul(%v{}, %v{}) \"n{}\"\n", i + 1, i, i, i);
    make(text + fmt::format("output %v{}", nodes), 1);
    for (Value& value : problem_.graph.values) value.type = problem_.graph.values[0].type;
    add_slot("sim", 1);
    add_slot("gpu", 2);
    for (uint32_t device : {1, 2}) problem_.slots[device].queues = 1 + (random() % 4 == 0 ? 1 : 0);
    costs_ = costs(std::vector<int64_t>(nodes, 1));
    for (auto& times : costs_.times)
      for (int64_t& time : times) time = 100 + static_cast<int64_t>(random() % 900);
    for (auto& row : costs_.links)
      for (Link& link : row) link = {static_cast<int64_t>(random() % 800), static_cast<double>(random() % 3)};
  }

  /// Returns the load of nodes `first` to `last`. `has_spare_frame`: a device copies one frame while it runs
  /// another.
  double load(uint32_t slot, uint32_t first, uint32_t last, bool has_spare_frame) const {
    double run = 0;
    for (uint32_t i = first; i < last; ++i) run += static_cast<double>(costs_.times[i][slot]);
    if (slot == 0) return run;
    const auto copy = [&](const Link& link) {
      return static_cast<double>(link.latency) + 64 * link.nanoseconds_per_byte;
    };
    const double copies = copy(costs_.links[0][slot]) + copy(costs_.links[slot][0]);
    return has_spare_frame ? std::max(run / problem_.slots[slot].queues, copies) : run + copies;
  }

  /// Returns the least interval over all ways to give each slot some consecutive nodes, or none. `most_held`:
  /// limit of a device's nodes, counted once per session.
  double least_interval(uint32_t most_held) const {
    const auto nodes = static_cast<uint32_t>(costs_.segments.size());
    double least = cannot_run;
    std::vector<uint32_t> order{0, 1, 2};
    do {
      for (uint32_t a = 0; a <= nodes; ++a)
        for (uint32_t b = a; b <= nodes; ++b)
          for (bool two : {false, true})
            least = std::min(least, interval(order, {0, a, b, nodes}, two, most_held));
    } while (std::ranges::next_permutation(order).found);
    return least;
  }

  double interval(const std::vector<uint32_t>& order, const std::vector<uint32_t>& ends, bool two,
                  uint32_t most_held) const {
    double longest = 0;
    for (uint32_t i = 0; i < slots; ++i) {
      if (ends[i] == ends[i + 1]) continue;
      const uint32_t sessions = two ? problem_.slots[order[i]].queues + 1 : 1;
      if (order[i] != 0 && (ends[i + 1] - ends[i]) * sessions > most_held) return cannot_run;
      longest = std::max(longest, load(order[i], ends[i], ends[i + 1], two));
    }
    return longest;
  }

  /// Chooses stages where each node of a session on a device needs one byte.
  Result<StagedPlan> choose_within(uint32_t most_held) const {
    ChosenPlan chosen{.plan = TRY(plan(placement_)), .report = std::nullopt};
    chosen.costs = costs_;
    PlanTools tools{.disabled_reason = "no clock",
                    .replan = [&](Placement placement) { return plan(std::move(placement)); }};
    tools.memory.measure_stages = [&](const Plan& made, const std::vector<ChosenStage>& stages) {
      std::vector<MemoryUse> uses(problem_.spaces.size());
      for (uint32_t i = 0; i < made.placement.nodes.size(); ++i)
        uses[problem_.space_of_target[made.placement.nodes[i].target]].arena +=
            stages[made.placement.nodes[i].stage].frames;
      return Result<std::vector<MemoryUse>>(uses);
    };
    PlanningProblem limited = problem_;
    limited.memory_limits = {no_limit, most_held, most_held};
    tools.memory.measure = [&](const Plan&) { return std::vector<MemoryUse>(limited.spaces.size()); };
    return choose_stages(limited, chosen, {}, tools);
  }

  SegmentCosts costs_;
};

/// Tolerance in nanoseconds, since times are reported as whole numbers.
constexpr double rounding = 0.6;

TEST_F(RandomStaging, NothingIsBelowTheBoundAndLittleAboveTheBest) {
  for_each_seed(500, [&](std::mt19937& random) {
    make_random(random);
    const Result<StagedPlan> staged = choose_within(1000);
    ASSERT_TRUE(staged) << staged.error().message;
    const auto predicted =
        static_cast<double>(StageReport::interval(staged->stages, &ChosenStage::predicted));
    const double least = least_interval(1000);
    EXPECT_LE(static_cast<double>(*staged->report.lower_bound), std::min(least, predicted) + rounding);
    EXPECT_GE(predicted, least - rounding) << staged->report.chosen;
    EXPECT_LE(predicted, 1.02 * least + rounding) << staged->report.chosen;
  });
}

TEST_F(RandomStaging, AlsoWhereMemoryIsLimited) {
  for_each_seed(500, [&](std::mt19937& random) {
    make_random(random);
    const auto most = static_cast<uint32_t>(1 + random() % 4);
    const Result<StagedPlan> staged = choose_within(most);
    ASSERT_TRUE(staged) << staged.error().message;
    const double least = least_interval(most);
    const auto predicted =
        static_cast<double>(StageReport::interval(staged->stages, &ChosenStage::predicted));
    EXPECT_LE(static_cast<double>(*staged->report.lower_bound), least + rounding);
    EXPECT_LE(predicted, 1.02 * least + rounding) << staged->report.chosen;
  });
}

/// Checks arbitrary cuts: every region belongs to one stage, and stages exchange what they need.
TEST(StageProperties, StagesFindWhatTheyRead) {
  const FakeTarget backend("fake", {"Foo"});
  for_each_seed(300, [&](std::mt19937& random) {
    PlanningProblem problem;
    problem.graph = make_random_graph(random, {});
    problem.slots = {{"cpu", "cpu", "cpu", 0}, {"accel", "sim", "sim:0", 1}};
    problem.spaces = {"cpu", "accel"};
    problem.targets = {{&backend, 0, "fake@cpu"}, {&backend, 1, "fake@accel"}};
    problem.space_of_target = {0, 1};
    const Graph& graph = problem.graph;
    std::vector<uint32_t> target_of;
    for (size_t i = 0; i < graph.nodes.size(); ++i) target_of.push_back(random() % 2);
    Placement placement(target_of);
    std::vector<std::string> cuts;
    for (size_t i = 0; i < 1 + random() % 3; ++i)
      cuts.push_back(graph.values[random() % graph.values.size()].name);
    const Result<std::vector<uint32_t>> stage_of = cut_graph(graph, cuts);
    if (!stage_of) return;
    placement.divide(*stage_of);
    ASSERT_TRUE(verify_stage_order(graph, placement));
    const Partition partition = partition_graph(graph, placement);
    const Status verified = verify_partition(graph, placement, partition);
    ASSERT_TRUE(verified) << verified.error().message;
    std::set<ValueId> present(graph.inputs.begin(), graph.inputs.end()), made;
    for (const StageSteps& stage : list_stages(graph, partition, problem.space_of_target)) {
      std::set<PlacedValue> here;
      for (ValueId input : stage.inputs) {
        ASSERT_TRUE(present.contains(input));
        here.insert({input, host_memory});
      }
      for (const Step& step : stage.steps) {
        if (step.kind == Step::Kind::copy) {
          ASSERT_TRUE(here.contains(step.from));
          here.insert(step.to);
          continue;
        }
        const uint32_t memory = problem.space_of_target[partition.regions[step.region].target];
        for (ValueId input : partition.boundaries[step.region].inputs)
          ASSERT_TRUE(here.contains({input, memory}));
        for (ValueId output : partition.boundaries[step.region].outputs) here.insert({output, memory});
      }
      for (ValueId output : stage.outputs) {
        ASSERT_TRUE(graph.value(output).constant || here.contains({output, host_memory}));
        ASSERT_TRUE(made.insert(output).second) << "once";
        present.insert(output);
      }
    }
    for (ValueId output : graph.outputs) ASSERT_TRUE(made.contains(output));
  });
}

}  // namespace
}  // namespace intarsia
