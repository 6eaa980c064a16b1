// Passes, each on small graphs in the text form: tests/cases/<pass>/*.case contains input and result. After
// an intended change of a pass, scripts/update_cases.py writes the new results.
//
// Covers: src/passes/ bind_shapes.cc fold_constants.cc infer_shapes.cc infer_types.cc
// resolve_sequences.cc simplify_reshapes.cc remove_dead_nodes.cc solve_sizes.cc translated.cc
// src/plan/partition/ directed_graph.cc elide_copies.cc group_opaque_values.cc insert_copies.cc
// join_regions.cc partition_graph.cc split_branches.cc boundary_layouts.cc describe_plan.cc src/plan/place/
// place_nodes.cc src/plan/choose/ choose_plan.cc describe_choice.cc src/plan/stages/ choose_stages.cc
// describe_stages.cc src/graph/ op_table.cc element_rules.cc shape_context.cc shape_rules.cc parse_graph.cc
// print_graph.cc verify_graph.cc
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/run_pass.h"

namespace intarsia {
namespace {

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
