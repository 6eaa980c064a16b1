#include "tests/support/run_pass.h"

#include "backends/reference/evaluate.h"
#include "graph/parse_graph.h"
#include "graph/print_graph.h"
#include "graph/verify_graph.h"
#include "passes/bind_shapes.h"
#include "passes/infer_types.h"
#include "passes/remove_dead_nodes.h"
#include "passes/resolve_sequences.h"
#include "passes/simplify_reshapes.h"
#include "plan/choose/describe_choice.h"
#include "plan/costs/boundary_prices.h"
#include "plan/costs/plan_timer.h"
#include "plan/partition/boundary_layouts.h"
#include "plan/partition/describe_plan.h"
#include "plan/partition/elide_copies.h"
#include "plan/partition/group_opaque_values.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "plan/partition/split_branches.h"
#include "plan/place/place_nodes.h"
#include "plan/stages/choose_stages.h"
#include "plan/stages/describe_stages.h"
#include "tests/support/fake_target.h"
#include "tests/support/test_folder.h"

namespace intarsia {
namespace {

/// Returns the words of each line of the section `given`.
std::vector<std::vector<std::string>> given_lines(const CaseFile& file) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream text(file.section("given"));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    lines.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return lines;
}

/// Reads "foreign TYPE", the type of the outputs of operators without a row.
InferForeign foreign_rule(const CaseFile& file) {
  for (const auto& words : given_lines(file)) {
    if (words.size() != 2 || words[0] != "foreign") continue;
    return [text = words[1]](Graph& graph, NodeId node) -> Status {
      TextScanner scanner(text);
      const ValueType type = TRY(parse_type(scanner));
      for (ValueId output : graph.node(node).outputs) {
        if (output != no_value) graph.value(output).type = type;
      }
      return {};
    };
  }
  return {};
}

/// Binds shapes given as "x 2x3", a shape for input x; with "* 1" sizes that no shape mentions become 1.
Result<std::string> run_bind_shapes(Graph& graph, const CaseFile& file) {
  std::map<std::string, RequestedShape> given;
  Unmentioned unmentioned = Unmentioned::stay_open;
  for (const auto& words : given_lines(file)) {
    if (words.at(0) == "*")
      unmentioned = Unmentioned::become_one;
    else
      given[words.at(0)] = TRY(parse_requested_shape(words.at(1)));
  }
  std::string text;
  for (const SymbolBinding& binding : TRY(bind_shapes(graph, given, unmentioned))) {
    text +=
        fmt::format("# {} = {}{}\n", binding.symbol, binding.value, binding.by_default ? " by default" : "");
  }
  for (const OpenSize& size : graph.open_sizes) {
    text += fmt::format("# {} is {}..{}", size.name, size.range.min, size.range.max);
    text += size.tuned.empty() ? "\n" : fmt::format(", fastest at {}\n", fmt::join(size.tuned, ", "));
  }
  return text + print_graph(graph);
}

Result<std::string> run_infer_shapes(Graph& graph, const CaseFile& file) {
  TRY(infer_shapes(graph, foreign_rule(file)));
  return print_graph(graph);
}

Result<std::string> run_infer_types(Graph& graph, const CaseFile& file) {
  TRY(infer_types(graph, reference::evaluate_node, foreign_rule(file)));
  return print_graph(graph);
}

Result<std::string> run_resolve_sequences(Graph& graph, const CaseFile&) {
  resolve_sequences(graph);
  return print_graph(graph);
}

Result<std::string> run_simplify_reshapes(Graph& graph, const CaseFile&) {
  simplify_reshapes(graph);
  return print_graph(graph);
}

Result<std::string> run_remove_dead_nodes(Graph& graph, const CaseFile&) {
  remove_dead_nodes(graph);
  return print_graph(graph);
}

std::string print_values(const Graph& graph, const std::vector<ValueId>& ids) {
  std::string text;
  for (ValueId id : ids) text += (text.empty() ? "" : " ") + graph.value(id).name;
  return "(" + text + ")";
}

std::string print_regions(const Graph& graph, const Partition& partition) {
  std::string text;
  for (size_t r = 0; r < partition.regions.size(); ++r) {
    text += fmt::format("region {} on {}:", r, partition.regions[r].target);
    for (NodeId node : partition.regions[r].nodes) text += " " + graph.node(node).name;
    text += fmt::format(" {} -> {}\n", print_values(graph, partition.boundaries[r].inputs),
                        print_values(graph, partition.boundaries[r].outputs));
  }
  return text;
}

/// Places nodes on targets given as "target fast@cpu Conv Relu", a target and the operators that it supports,
/// or "framework ort@cpu Foo" for a framework; "pin PATTERN TARGET" pins nodes.
Result<std::string> run_place_nodes(Graph& graph, const CaseFile& file, bool keep_inside) {
  std::map<std::string, FakeTarget> backends;
  std::vector<PlacementTarget> targets;
  std::vector<Pin> pins;
  for (const auto& words : given_lines(file)) {
    if (words.at(0) == "pin") {
      pins.push_back({words.at(1), words.at(2)});
      continue;
    }
    const std::string backend = words.at(1).substr(0, words.at(1).find('@'));
    const std::set<std::string> ops(words.begin() + 2, words.end());
    auto at = backends.try_emplace(backend, backend, ops, words.at(0) == "framework").first;
    targets.push_back({&at->second, static_cast<uint32_t>(targets.size()), words.at(1)});
  }
  Placement placement = TRY(place_nodes(graph, targets, pins));
  if (keep_inside) TRY(group_opaque_values(graph, targets, placement));
  std::string text;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    text += fmt::format("{}: {}, {}", graph.nodes[i].name, targets[placement.nodes[i].target].name,
                        placement.nodes[i].reason);
    for (const std::string& refusal : placement.nodes[i].refusals) text += "; " + refusal;
    text += "\n";
  }
  if (!keep_inside) return text;
  const Partition partition = partition_graph(graph, placement);
  TRY(verify_partition(graph, placement, partition));
  return text + print_regions(graph, partition);
}

/// Placement given as "0 1 0", the target of each node, in order, and "memory host sim", the memory of each
/// target.
struct Given {
  Placement placement;
  std::vector<uint32_t> space_of_target;
};

Given read_placement(const CaseFile& file) {
  Given given;
  std::vector<uint32_t> target_of;
  for (const auto& words : given_lines(file)) {
    if (words.at(0) == "memory") {
      for (size_t i = 1; i < words.size(); ++i)
        given.space_of_target.push_back(words[i] == "host" ? host_memory
                                                           : static_cast<uint32_t>(std::stoi(words[i])) + 1);
    } else {
      for (const std::string& word : words) target_of.push_back(static_cast<uint32_t>(std::stoi(word)));
    }
  }
  given.placement = Placement(target_of);
  return given;
}

Result<std::string> run_partition_graph(Graph& graph, const CaseFile& file) {
  const Placement placement = read_placement(file).placement;
  const Partition partition = partition_graph(graph, placement);
  TRY(verify_partition(graph, placement, partition));
  return print_regions(graph, partition);
}

std::string print_steps(const Graph& graph, const Partition& partition, const StepList& steps) {
  const auto space_name = [](uint32_t space) {
    return space == host_memory ? "host" : std::to_string(space - 1);
  };
  std::string text;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::copy) {
      text += fmt::format("copy {} {} -> {}\n", graph.value(step.from.value).name,
                          space_name(step.from.space), space_name(step.to.space));
      continue;
    }
    text += fmt::format("run {}:", step.region);
    for (NodeId node : partition.regions[step.region].nodes) text += " " + graph.node(node).name;
    text += "\n";
  }
  return text;
}

Result<std::string> run_copies(Graph& graph, const CaseFile& file, bool elide) {
  const Given given = read_placement(file);
  const Partition partition = partition_graph(graph, given.placement);
  const StepList steps = insert_copies(graph, partition, given.space_of_target);
  if (!elide) return print_steps(graph, partition, steps);
  const StepList kept = elide_copies(steps);
  TRY(verify_steps(graph, partition, given.space_of_target, kept));
  return print_steps(graph, partition, kept);
}

/// Problem and tools of a plan, as the section `given` describes them:
///   target own@a Relu MatMul     a target on its slot, and the operators that it supports
///   framework ort@a Relu         a target that is a framework
///   channels_last own@a Relu     a target that prefers this layout
///   place own@a ort@a            the target of each node, in order; by preference without this line
///   price ort Relu 5000          nanoseconds of an operator in a backend; without prices nothing is timed
///   cut %b                       values at which stages end
///   stages 2                     number of stages, without cuts
class GivenProblem {
 public:
  GivenProblem(const Graph& graph, const CaseFile& file) : costs_(folder_.path().string()) {
    problem_.graph = graph;
    problem_.spaces = {"host"};
    for (const auto& words : given_lines(file)) read(words);
  }

  const PlanningProblem& problem() const { return problem_; }
  const StageDemand& demand() const { return demand_; }

  Result<Placement> place() const {
    Placement placement = TRY(place_nodes(problem_.graph, problem_.targets, {}));
    for (size_t i = 0; i < placed_.size(); ++i) placement.nodes[i].target = number_of(placed_[i]);
    return placement;
  }

  Result<Plan> plan(Placement placement) const {
    const Graph& graph = problem_.graph;
    Plan plan{std::move(placement), {}, {}};
    TRY(group_opaque_values(graph, problem_.targets, plan.placement));
    plan.partition = partition_graph(graph, plan.placement);
    split_branches(problem_, plan.placement, plan.partition);
    TRY(verify_partition(graph, plan.placement, plan.partition));
    TRY(choose_boundary_layouts(problem_, plan.partition));
    TRY(verify_boundary_layouts(problem_, plan.partition));
    plan.steps = elide_copies(insert_copies(graph, plan.partition, problem_.space_of_target));
    TRY(verify_steps(graph, plan.partition, problem_.space_of_target, plan.steps));
    return plan;
  }

  PlanTools tools() {
    PlanTools tools{.replan = [this](Placement placement) { return plan(std::move(placement)); }};
    if (prices_.empty()) {
      tools.disabled_reason = "no prices are given";
      return tools;
    }
    timer_.emplace(
        problem_, [this](const auto& plans) { return time(plans); }, [] { return 1000; }, costs_, CostKey());
    tools.timer = &*timer_;
    tools.time_link = [](const DeviceSlot&, const DeviceSlot&) { return LinkCost{.latency_ns = 1000}; };
    tools.price_boundaries = [this] { return known_boundaries(problem_, 1, costs_); };
    return tools;
  }

 private:
  void read(const std::vector<std::string>& words) {
    const std::string& word = words.at(0);
    if (word == "place") {
      placed_.assign(words.begin() + 1, words.end());
    } else if (word == "price") {
      prices_[{words.at(1), words.at(2)}] = std::stoll(words.at(3));
    } else if (word == "stages") {
      demand_.count = static_cast<uint32_t>(std::stoi(words.at(1)));
    } else if (word == "cut") {
      for (size_t i = 1; i < words.size(); ++i) demand_.cuts.push_back(words[i].substr(1));
    } else {
      const std::set<std::string> ops(words.begin() + 2, words.end());
      add_target(word, words.at(1), ops);
    }
  }

  void add_target(const std::string& kind, const std::string& name, const std::set<std::string>& ops) {
    const std::string backend = name.substr(0, name.find('@')), slot = name.substr(name.find('@') + 1);
    std::unique_ptr<FakeTarget>& target = backends_[backend];
    if (!target && kind == "channels_last") target = std::make_unique<ChannelsLastTarget>(backend, ops);
    if (!target) target = std::make_unique<FakeTarget>(backend, ops, kind == "framework");
    auto at = std::ranges::find(problem_.slots, slot, &DeviceSlot::name);
    if (at == problem_.slots.end()) {
      const std::string core = fmt::format("{}", problem_.slots.size());
      at = problem_.slots.insert(at, {.name = slot,
                                      .kind = "cpu",
                                      .device = "cpu:" + core,
                                      .core_set = *CoreSet::parse(core),
                                      .is_on_host = true});
    }
    const auto number = static_cast<uint32_t>(at - problem_.slots.begin());
    problem_.targets.push_back({target.get(), number, name});
    problem_.space_of_target.push_back(host_memory);
  }

  uint32_t number_of(const std::string& target) const {
    const auto at = std::ranges::find(problem_.targets, target, &PlacementTarget::name);
    return static_cast<uint32_t>(at - problem_.targets.begin());
  }

  /// Times plans by the prices of their nodes; each region takes 1000 ns more.
  Result<std::vector<Result<PlanTimes>>> time(const std::vector<const Plan*>& plans) const {
    std::vector<Result<PlanTimes>> all;
    for (const Plan* plan : plans) {
      PlanTimes times;
      int64_t whole = 0;
      for (uint32_t r = 0; r < plan->partition.regions.size(); ++r) {
        const Region& region = plan->partition.regions[r];
        int64_t sum = 0;
        for (NodeId id : region.nodes) {
          const Node& node = problem_.graph.node(id);
          const int64_t price = prices_.at({problem_.targets[region.target].backend->name(), node.op});
          times.kernels.push_back({r, node.name + ": " + node.op, price});
          sum += price;
        }
        times.regions.push_back(summarize_rounds({sum}));
        whole += sum + 1000;
      }
      times.whole = summarize_rounds({whole});
      all.push_back(std::move(times));
    }
    return all;
  }

  std::map<std::string, std::unique_ptr<FakeTarget>> backends_;
  PlanningProblem problem_;
  std::vector<std::string> placed_;
  std::map<std::pair<std::string, std::string>, int64_t> prices_;
  StageDemand demand_;
  const test::TestFolder folder_;
  CostTable costs_;
  std::optional<PlanTimer> timer_;
};

Result<std::string> run_split_branches(Graph& graph, const CaseFile& file) {
  const GivenProblem given(graph, file);
  const Placement placement = TRY(given.place());
  Partition partition = partition_graph(graph, placement);
  split_branches(given.problem(), placement, partition);
  TRY(verify_partition(graph, placement, partition));
  return print_regions(graph, partition);
}

Result<std::string> run_choose_boundary_layouts(Graph& graph, const CaseFile& file) {
  const GivenProblem given(graph, file);
  Partition partition = partition_graph(graph, TRY(given.place()));
  TRY(choose_boundary_layouts(given.problem(), partition));
  TRY(verify_boundary_layouts(given.problem(), partition));
  return describe_partition(given.problem(), partition);
}

Result<std::string> run_choose_plan(Graph& graph, const CaseFile& file) {
  GivenProblem given(graph, file);
  const PlanTools tools = given.tools();
  const ChosenPlan chosen = TRY(choose_plan(given.problem(), TRY(given.plan(TRY(given.place()))), tools));
  return describe_choice(given.problem(), chosen);
}

Result<std::string> run_choose_stages(Graph& graph, const CaseFile& file) {
  GivenProblem given(graph, file);
  const PlanTools tools = given.tools();
  ChosenPlan chosen = TRY(choose_plan(given.problem(), TRY(given.plan(TRY(given.place()))), tools));
  StagedPlan staged = TRY(choose_stages(given.problem(), chosen, given.demand(), tools));
  chosen.plan = std::move(staged.plan);
  chosen.stages = std::move(staged.stages);
  return describe_partition(given.problem(), chosen.plan.partition) +
         describe_stages(given.problem(), chosen);
}

using RunPass = Result<std::string> (*)(Graph& graph, const CaseFile& file);

/// Passes by name, in the order of a compile.
constexpr std::pair<const char*, RunPass> passes[] = {
    {"bind_shapes", run_bind_shapes},
    {"infer_shapes", run_infer_shapes},
    {"infer_types", run_infer_types},
    {"resolve_sequences", run_resolve_sequences},
    {"simplify_reshapes", run_simplify_reshapes},
    {"remove_dead_nodes", run_remove_dead_nodes},
    {"place_nodes", [](Graph& graph, const CaseFile& file) { return run_place_nodes(graph, file, false); }},
    {"group_opaque_values",
     [](Graph& graph, const CaseFile& file) { return run_place_nodes(graph, file, true); }},
    {"partition_graph", run_partition_graph},
    {"split_branches", run_split_branches},
    {"choose_boundary_layouts", run_choose_boundary_layouts},
    {"insert_copies", [](Graph& graph, const CaseFile& file) { return run_copies(graph, file, false); }},
    {"elide_copies", [](Graph& graph, const CaseFile& file) { return run_copies(graph, file, true); }},
    {"choose_plan", run_choose_plan},
    {"choose_stages", run_choose_stages},
};

}  // namespace

Result<std::string> run_pass(const CaseFile& file) {
  const std::string pass = file.pass();
  if (pass == "parse_graph") return print_graph(TRY(parse_graph(file.section("input"))));
  const auto known = std::ranges::find(passes, pass, [](const auto& entry) { return entry.first; });
  if (known == std::end(passes)) return fail("no pass is named '{}'", pass);
  Graph graph = TRY(with_context(parse_graph(file.section("input")), "the case itself"));
  Result<std::string> text = known->second(graph, file);
  TRY(with_context(verify_graph(graph), "after {}", pass));
  return text;
}

std::vector<std::string> passes_to_run() {
  std::vector<std::string> names = {"parse_graph"};
  for (const auto& [name, run] : passes) names.emplace_back(name);
  return names;
}

}  // namespace intarsia
