// Steps of the halide backend, each on small regions: tests/cases/halide_<step>/*.case contains a region of
// ONNX operators and the step's result, on two threads of an x86-64-v3, or of a Sapphire Rapids for steps
// that are about its tile registers. After an intended change, scripts/update_cases.py writes the new
// results.
//
// Covers: backends/halide/ compile_region.cc
// backends/halide/canonicalize/ canonicalize.cc simplify.cc
// backends/halide/layout/ choose_layouts.cc
// backends/halide/fuse/ fuse.cc match_attention.cc
// backends/halide/schedule/ round_factors.cc unfold_taps.cc
// backends/halide/emit/ make_region.cc
// backends/halide/tune/ choose_schedules.cc
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/case_file.h"
#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

constexpr std::string_view prefix = "halide_";

/// Returns what the step prints. No code is generated if the step comes before code generation.
Result<std::string> run_step(const std::string& step, const std::string& text) {
  const Graph region = TRY(make_graph(text));
  std::optional<std::string> printed;
  CompileOptions options{2, "x86-64-v3"};
  const bool is_for_tiles = step == "unfold_taps" || step == "round_factors";
  if (is_for_tiles) options.cpu = "sapphirerapids", options.rounds_to = DType::bf16;
  options.print_step = [&](std::string_view name, const std::string& made) {
    if (name == step) printed = made;
  };
  options.is_cancelled = [&] { return printed.has_value(); };
  const auto compiled = halide::compile_region(region, test_emitter(), options, {});
  if (printed) return *printed;
  if (!compiled) return tl::unexpected(compiled.error());
  return fail("no step is named '{}'", step);
}

class HalideStep : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(HalideStep, GivesItsResult) {
  CaseFile file = read_case(GetParam());
  const Result<std::string> got = run_step(file.pass().substr(prefix.size()), file.section("input"));
  if (std::getenv("INTARSIA_UPDATE_CASES") != nullptr) {
    file.sections.erase(got ? "error" : "output");
    file.sections[got ? "output" : "error"] = got ? *got : got.error().message + "\n";
    write_case(file);
  }
  if (file.must_fail()) {
    ASSERT_FALSE(got) << file.path << " must fail, gave\n" << *got;
    EXPECT_EQ(got.error().message + "\n", file.section("error")) << file.path;
    return;
  }
  ASSERT_TRUE(got) << file.path << ": " << got.error().message;
  EXPECT_EQ(*got, file.section("output")) << file.path;
}

std::vector<std::filesystem::path> step_cases() {
  std::vector<std::filesystem::path> cases = list_cases(INTARSIA_SOURCE "/tests/cases");
  std::erase_if(cases,
                [](const auto& path) { return !path.parent_path().filename().string().starts_with(prefix); });
  return cases;
}

std::string case_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  return info.param.parent_path().filename().string() + "_" + info.param.stem().string();
}

INSTANTIATE_TEST_SUITE_P(Cases, HalideStep, testing::ValuesIn(step_cases()), case_name);

TEST(HalideSteps, EachHasACase) {
  const std::vector<std::filesystem::path> cases = step_cases();
  for (const std::string_view step : halide::step_names())
    EXPECT_TRUE(std::ranges::any_of(cases, [&](const auto& path) {
      return path.parent_path().filename().string() == fmt::format("{}{}", prefix, step);
    })) << step;
}

}  // namespace
}  // namespace intarsia::test
