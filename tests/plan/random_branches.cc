// Graphs with branches, placed on a processor and two devices that work side by side, against all placements:
// the time that a plan takes follows from the order of its steps.
//
// Covers: src/plan/place/ mix_backends.cc schedule_placement.cc src/plan/partition/ split_branches.cc
#include <gtest/gtest.h>

#include "graph/parse_graph.h"
#include "plan/partition/elide_copies.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "plan/partition/split_branches.h"
#include "plan/place/mix_backends.h"
#include "tests/support/fake_target.h"
#include "tests/support/random_graph.h"

namespace intarsia {
namespace {

constexpr uint32_t slots = 3;

/// Node that makes one value.
struct RandomNode {
  bool is_product = true;
  std::vector<int> reads;  // nodes that it reads; -1: the input
};

std::vector<RandomNode> make_two_branches(uint32_t length) {
  std::vector<RandomNode> nodes;
  for (int branch = 0; branch < 2; ++branch)
    for (uint32_t i = 0; i < length; ++i)
      nodes.push_back({true, {i == 0 ? -1 : static_cast<int>(nodes.size()) - 1}});
  nodes.push_back({false, {static_cast<int>(length) - 1, static_cast<int>(2 * length) - 1}});
  return nodes;
}

std::vector<RandomNode> make_diamond(uint32_t after) {
  std::vector<RandomNode> nodes{{true, {-1}}, {true, {0}}, {true, {1}},
                                {true, {0}},  {true, {3}}, {false, {2, 4}}};
  for (uint32_t i = 0; i < after; ++i) nodes.push_back({true, {static_cast<int>(nodes.size()) - 1}});
  return nodes;
}

std::vector<RandomNode> make_any(std::mt19937& random, uint32_t count) {
  std::vector<RandomNode> nodes;
  const auto below = [&](uint32_t limit) { return static_cast<int>(random() % limit); };
  for (int i = 0; i < static_cast<int>(count); ++i) {
    if (i > 1 && below(10) < 3) {
      const int first = below(static_cast<uint32_t>(i)), second = below(static_cast<uint32_t>(i) - 1);
      nodes.push_back({false, {first, second + (second >= first ? 1 : 0)}});
    } else {
      nodes.push_back({true, {std::max(-1, i - 1 - below(3))}});
    }
  }
  return nodes;
}

std::vector<RandomNode> make_nodes(std::mt19937& random) {
  switch (random() % 3) {
    case 0:
      return make_two_branches(3);
    case 1:
      return make_diamond(2);
    default:
      return make_any(random, 8);
  }
}

Graph make_graph(const std::vector<RandomNode>& nodes) {
  const auto name = [](int node) { return node < 0 ? std::string("%x") : fmt::format("%v{}", node); };
  std::string text = "graph \"g\" opsets {\"\": 17}\ninput %x : f32[64,64]\n", outputs;
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const RandomNode& node = nodes[static_cast<size_t>(i)];
    const std::string second = name(node.reads.back());
    text += fmt::format("{} = {}({}, {}) \"n{}\"\n", name(i), node.is_product ? "MatMul" : "Add",
                        name(node.reads[0]), second, i);
    const auto reads_it = [&](const RandomNode& other) {
      return std::ranges::find(other.reads, i) != other.reads.end();
    };
    if (std::ranges::none_of(nodes, reads_it)) outputs += fmt::format("output {}\n", name(i));
  }
  Graph graph = parse_graph(text + outputs).value();
  for (Value& value : graph.values) value.type = graph.values[0].type;
  return graph;
}

/// Steps of a plan, in order.
struct TimedSteps {
  std::vector<uint32_t> queues;
  std::vector<int64_t> times;
  std::vector<std::vector<uint32_t>> depends;  // earlier steps that a step waits for
  std::map<PlacedValue, uint32_t> makers;

  void add(uint32_t queue, int64_t time, const std::vector<PlacedValue>& reads,
           const std::vector<PlacedValue>& makes) {
    depends.emplace_back();
    for (const PlacedValue& read : reads)
      if (const auto maker = makers.find(read); maker != makers.end())
        depends.back().push_back(maker->second);
    for (const PlacedValue& made : makes) makers[made] = static_cast<uint32_t>(times.size());
    queues.push_back(queue);
    times.push_back(time);
  }

  /// Returns the time when all queues are done; each runs its steps one after the other.
  int64_t end() const {
    std::map<uint32_t, int64_t> free;
    std::vector<int64_t> ends(times.size());
    for (uint32_t step = 0; step < times.size(); ++step) {
      int64_t begin = free[queues[step]];
      for (uint32_t before : depends[step]) begin = std::max(begin, ends[before]);
      ends[step] = free[queues[step]] = begin + times[step];
    }
    return std::ranges::max(ends);
  }
};

class SideBySide {
 public:
  explicit SideBySide(std::mt19937& random) {
    problem_.graph = make_graph(make_nodes(random));
    problem_.spaces = {"cpu", "one", "two"};
    for (uint32_t slot = 0; slot < slots; ++slot) {
      problem_.slots.push_back({problem_.spaces[slot], "sim", fmt::format("sim:{}", slot), slot});
      problem_.targets.push_back({&backend_, slot, problem_.spaces[slot]});
      problem_.space_of_target.push_back(slot);
    }
    costs_.links.assign(slots, std::vector<Link>(slots));
    costs_.boundaries.assign(slots, {2000, 0.2});
    constexpr std::array<int64_t, 4> latencies{100'000, 500'000, 2'000'000, 6'000'000};
    for (uint32_t slot = 1; slot < slots; ++slot) {
      const Link link{latencies[random() % latencies.size()], 1};
      costs_.links[0][slot] = costs_.links[slot][0] = link;
    }
    for (auto [one, other] : {std::pair(1, 2), std::pair(2, 1)}) {
      const Link &first = costs_.links[one][0], &second = costs_.links[0][other];
      costs_.links[one][other] = {first.latency + second.latency, 2};
    }
    for (uint32_t i = 0; i < problem_.graph.nodes.size(); ++i) add_times(i, random);
  }

  /// Returns the time of the chosen plan in nanoseconds.
  int64_t chosen() const {
    const Placement placed(std::vector<uint32_t>(problem_.graph.nodes.size(), 0));
    const auto mixed = schedule_executors(problem_, placed, costs_);
    return run(mixed->placement);
  }

  int64_t least() const {
    std::vector<uint32_t> target(problem_.graph.nodes.size());
    int64_t least = never;
    while (true) {
      least = std::min(least, run_nodes(target));
      size_t digit = 0;
      while (digit < target.size() && ++target[digit] == slots) target[digit++] = 0;
      if (digit == target.size()) return least;
    }
  }

 private:
  void add_times(uint32_t node, std::mt19937& random) {
    constexpr std::array<int64_t, 6> products{500, 1500, 3000, 6000, 12000, 20000};
    constexpr std::array<int64_t, 3> sums{50, 300, 1000};
    const bool is_product = problem_.graph.nodes[node].op == "MatMul";
    std::vector<int64_t> times{is_product ? 4'000'000 : 150'000};
    for (uint32_t slot = 1; slot < slots; ++slot)
      times.push_back(1000 *
                      (is_product ? products[random() % products.size()] : sums[random() % sums.size()]));
    costs_.segments.push_back({NodeId{node}});
    costs_.times.push_back(std::move(times));
  }

  int64_t copy(uint32_t from, uint32_t to) const {
    const Link& link = costs_.links[from][to];
    return link.latency + static_cast<int64_t>(64 * 64 * 4 * link.nanoseconds_per_byte);
  }

  /// Runs a plan as the runtime does: a queue for what each executor computes, and one for a device's copies.
  int64_t run(const Placement& placement) const {
    Plan plan{placement, partition_graph(problem_.graph, placement), {}};
    split_branches(problem_, plan.placement, plan.partition);
    const Status verified = verify_partition(problem_.graph, plan.placement, plan.partition);
    EXPECT_TRUE(verified) << verified.error().message;
    plan.steps = elide_copies(insert_copies(problem_.graph, plan.partition, problem_.space_of_target));
    TimedSteps steps;
    for (const Step& step : plan.steps) {
      if (step.kind == Step::Kind::copy) {
        const uint32_t device = step.to.space == host_memory ? step.from.space : step.to.space;
        steps.add(2 * device + 1, copy(step.from.space, step.to.space), {step.from}, {step.to});
        continue;
      }
      const Region& region = plan.partition.regions[step.region];
      const auto placed = [&](const std::vector<ValueId>& values) {
        std::vector<PlacedValue> there;
        for (ValueId value : values) there.push_back({value, region.target});
        return there;
      };
      int64_t time = 0;
      for (NodeId node : region.nodes) time += costs_.times[index(node)][region.target];
      const Boundary& boundary = plan.partition.boundaries[step.region];
      steps.add(2 * region.target, time, placed(boundary.inputs), placed(boundary.outputs));
    }
    return steps.end();
  }

  /// Runs node by node in order, each copy when its value exists, as a person would schedule them. An
  /// executor has the number of its memory.
  int64_t run_nodes(const std::vector<uint32_t>& target) const {
    std::array<int64_t, slots> free{}, link{};
    std::map<std::pair<ValueId, uint32_t>, int64_t> there;
    const auto fetch = [&](ValueId value, uint32_t slot) {
      if (const auto at = there.find({value, slot}); at != there.end()) return at->second;
      const NodeId producer = problem_.graph.value(value).producer;
      const uint32_t from = producer == no_node ? 0 : target[index(producer)];
      int64_t at = producer == no_node ? 0 : there.at({value, from});
      for (uint32_t device : {from, slot}) {
        if (device == 0 || from == slot || there.contains({value, device == from ? 0u : device})) continue;
        at = link[device] = std::max(at, link[device]) + copy(0, device);
        there[{value, device == from ? 0u : device}] = at;
      }
      return there.contains({value, slot}) ? there.at({value, slot}) : at;
    };
    for (uint32_t i = 0; i < target.size(); ++i) {
      const Node& node = problem_.graph.nodes[i];
      int64_t begin = free[target[i]];
      for (ValueId read : values_read(node)) begin = std::max(begin, fetch(read, target[i]));
      free[target[i]] = there[{node.outputs[0], target[i]}] = begin + costs_.times[i][target[i]];
    }
    int64_t last = std::ranges::max(free);
    for (ValueId output : problem_.graph.outputs) last = std::max(last, fetch(output, 0));
    return last;
  }

  FakeTarget backend_{"fake", {}};
  PlanningProblem problem_;
  SegmentCosts costs_;
};

TEST(RandomBranches, NearlyTheBestOfAllPlacements) {
  std::vector<double> ratios;
  for_each_seed(100, [&](std::mt19937& random) {
    const SideBySide graph(random);
    ratios.push_back(static_cast<double>(graph.chosen()) / static_cast<double>(graph.least()));
  });
  std::ranges::sort(ratios);
  EXPECT_LE(ratios[ratios.size() * 95 / 100], 1.05);
  EXPECT_LE(ratios.back(), 1.10);
}

}  // namespace
}  // namespace intarsia
