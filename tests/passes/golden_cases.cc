// Passes, each on small graphs in the text form: tests/cases/<pass>/*.case contains input and result. After
// an intended change of a pass, scripts/update_cases.py writes the new results.
//
// Covers: src/passes/ bind_shapes.cc fold_constants.cc infer_shapes.cc infer_types.cc known_elements.cc
// remove_dead_nodes.cc solve_sizes.cc translated.cc src/plan/partition/ directed_graph.cc elide_copies.cc
// group_opaque_values.cc insert_copies.cc join_regions.cc partition_graph.cc src/plan/place/ place_nodes.cc
// src/graph/ op_table.cc shape_context.cc shape_rules.cc parse_graph.cc print_graph.cc verify_graph.cc
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/reference/evaluate.h"
#include "graph/parse_graph.h"
#include "graph/print_graph.h"
#include "graph/verify_graph.h"
#include "passes/bind_shapes.h"
#include "passes/infer_types.h"
#include "passes/remove_dead_nodes.h"
#include "plan/partition/elide_copies.h"
#include "plan/partition/group_opaque_values.h"
#include "plan/partition/insert_copies.h"
#include "plan/partition/partition_graph.h"
#include "plan/place/place_nodes.h"
#include "tests/support/case_file.h"
#include "tests/support/fake_target.h"

namespace intarsia {
namespace {

/// Returns the words of each line of the section `given`.
std::vector<std::vector<std::string>> given_lines(CaseFile& file) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream text(file.section("given"));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    lines.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  return lines;
}

/// Reads "foreign TYPE", the type of the outputs of operators without a row.
InferForeign foreign_rule(CaseFile& file) {
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

/// Binds shapes given as "x 2x3", a shape for input x.
Result<std::string> run_bind_shapes(Graph& graph, CaseFile& file) {
  std::map<std::string, Shape> given;
  for (const auto& words : given_lines(file)) given[words.at(0)] = TRY(parse_shape(words.at(1)));
  std::string text;
  for (const SymbolBinding& binding : TRY(bind_shapes(graph, given))) {
    text +=
        fmt::format("# {} = {}{}\n", binding.symbol, binding.value, binding.by_default ? " by default" : "");
  }
  return text + print_graph(graph);
}

Result<std::string> run_infer_shapes(Graph& graph, CaseFile& file) {
  TRY(infer_shapes(graph, foreign_rule(file)));
  return print_graph(graph);
}

Result<std::string> run_infer_types(Graph& graph, CaseFile& file) {
  TRY(infer_types(graph, reference::evaluate_node, foreign_rule(file)));
  return print_graph(graph);
}

Result<std::string> run_remove_dead_nodes(Graph& graph, CaseFile&) {
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
Result<std::string> run_place_nodes(Graph& graph, CaseFile& file, bool keep_inside) {
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
    text += fmt::format("{}: {}, {}", graph.nodes[i].name, targets[placement.target[i]].name,
                        placement.reason[i]);
    for (const std::string& refusal : placement.refusals[i]) text += "; " + refusal;
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

Given read_placement(CaseFile& file) {
  Given given;
  for (const auto& words : given_lines(file)) {
    if (words.at(0) == "memory") {
      for (size_t i = 1; i < words.size(); ++i)
        given.space_of_target.push_back(words[i] == "host" ? host_memory
                                                           : static_cast<uint32_t>(std::stoi(words[i])) + 1);
    } else {
      for (const std::string& word : words)
        given.placement.target.push_back(static_cast<uint32_t>(std::stoi(word)));
    }
  }
  return given;
}

Result<std::string> run_partition_graph(Graph& graph, CaseFile& file) {
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

Result<std::string> run_copies(Graph& graph, CaseFile& file, bool elide) {
  const Given given = read_placement(file);
  const Partition partition = partition_graph(graph, given.placement);
  const StepList steps = insert_copies(graph, partition, given.space_of_target);
  if (!elide) return print_steps(graph, partition, steps);
  const StepList kept = elide_copies(steps);
  TRY(verify_steps(graph, partition, given.space_of_target, kept));
  return print_steps(graph, partition, kept);
}

Result<std::string> run_pass(CaseFile& file) {
  const std::string pass = file.pass();
  if (pass == "parse_graph") return print_graph(TRY(parse_graph(file.section("input"))));
  Graph graph = TRY(with_context(parse_graph(file.section("input")), "the case itself"));
  Result<std::string> text = [&]() -> Result<std::string> {
    if (pass == "bind_shapes") return run_bind_shapes(graph, file);
    if (pass == "infer_shapes") return run_infer_shapes(graph, file);
    if (pass == "infer_types") return run_infer_types(graph, file);
    if (pass == "remove_dead_nodes") return run_remove_dead_nodes(graph, file);
    if (pass == "place_nodes") return run_place_nodes(graph, file, false);
    if (pass == "group_opaque_values") return run_place_nodes(graph, file, true);
    if (pass == "partition_graph") return run_partition_graph(graph, file);
    if (pass == "insert_copies") return run_copies(graph, file, false);
    if (pass == "elide_copies") return run_copies(graph, file, true);
    return fail("no pass is named '{}'", pass);
  }();
  TRY(with_context(verify_graph(graph), "after {}", pass));
  return text;
}

class PassCase : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(PassCase, GivesItsResult) {
  CaseFile file = read_case(GetParam());
  const Result<std::string> got = run_pass(file);
  if (std::getenv("INTARSIA_UPDATE_CASES") != nullptr) {
    if (got)
      file.sections["output"] = *got;
    else
      file.sections["error"] = got.error().message + "\n";
    file.sections.erase(got ? "error" : "output");
    write_case(file);
  }
  if (!file.must_fail()) {
    ASSERT_TRUE(got) << file.path << ": " << got.error().message;
    EXPECT_EQ(*got, file.section("output")) << file.path;
    return;
  }
  ASSERT_FALSE(got) << file.path << " must fail, gave\n" << *got;
  const std::string wanted = file.section("error").substr(0, file.section("error").find('\n'));
  ASSERT_FALSE(wanted.empty()) << file.path << " names no message";
  EXPECT_NE(got.error().message.find(wanted), std::string::npos)
      << file.path << ": got " << got.error().message;
}

std::string case_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  return info.param.parent_path().filename().string() + "_" + info.param.stem().string();
}

/// Lists the cases of passes; those of a backend's steps belong to its own test.
std::vector<std::filesystem::path> pass_cases() {
  std::vector<std::filesystem::path> cases = list_cases(INTARSIA_SOURCE "/tests/cases");
  std::erase_if(
      cases, [](const auto& path) { return path.parent_path().filename().string().starts_with("halide_"); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, PassCase, testing::ValuesIn(pass_cases()), case_name);

}  // namespace
}  // namespace intarsia
