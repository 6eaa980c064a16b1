// Plans for ranges of an open size, with a clock that follows a price list.
//
// Covers: src/compile/ specialize_function.cc
#include "compile/specialize_function.h"

#include "tests/support/priced_plans.h"

namespace intarsia {
namespace {

using namespace test;

/// Fixture with y = Relu(x) of x [N,2], N from 1 to 32. An item takes 100 us in our backend; the library
/// takes 300 us, and 20 us an item.
class PlansForSizes : public PlanChoice {
 protected:
  PlansForSizes() {
    write_relu({"N", 2});
    request.shapes["x"] = *parse_requested_shape("1..32x2");
    prices = {{{"own", "Relu"}, 0}, {{"framework", "Relu"}, 0}};
    stretch = [this](const fbs::ProgramT& program, int64_t) {
      const int64_t items = program.functions[0]->values[0]->tuned_dims[0];
      timed_at.insert(items);
      return uses(program, "framework") ? 300'000 + 20'000 * items : 100'000 * items;
    };
  }

  void write_relu(const std::vector<onnx::Size>& sizes) {
    const onnx::Messages nodes = {onnx::node_message("Relu", {"x"}, {"y"})};
    std::ofstream(request.model_path, std::ios::binary)
        << onnx::model_message({.nodes = nodes,
                                .inputs = {onnx::value_message("x", DType::f32, sizes)},
                                .outputs = {onnx::value_message("y")}});
  }

  /// Compiles, and returns a text of the program's ways to run: "own; N 4 to 32: framework".
  std::string ways() {
    compile();
    const fbs::ProgramT program = read_program(request.program_path).value().description;
    const fbs::FunctionT& function = *program.functions[0];
    std::string text = program.regions[function.steps[0]->region]->backend;
    for (const auto& other : function.specializations)
      text += fmt::format("; N {} to {}: {}", other->ranges[0]->min, other->ranges[0]->max,
                          program.regions[other->steps[0]->region]->backend);
    return text;
  }

  std::set<int64_t> timed_at;  // items with which programs were timed
};

TEST_F(PlansForSizes, TheLibraryTakesManyItems) {
  EXPECT_EQ(ways(), "own; N 4 to 32: framework");
  EXPECT_EQ(timed_at, (std::set<int64_t>{1, 32}));
}

TEST_F(PlansForSizes, TimesAreKeptBySize) {
  EXPECT_EQ(ways(), "own; N 4 to 32: framework");
  const int timed_so_far = timed;
  EXPECT_EQ(ways(), "own; N 4 to 32: framework");
  EXPECT_EQ(timed, timed_so_far);
}

TEST_F(PlansForSizes, TheProgramTellsItsTimes) {
  ways();
  const fbs::ProgramT program = read_program(request.program_path).value().description;
  const fbs::FunctionT& other = *program.functions[0]->specializations.at(0);
  EXPECT_EQ(other.measured_ns, 300'000u + 32 * 20'000);
  EXPECT_EQ(other.values[0]->tuned_dims, (std::vector<int64_t>{32, 2}));
  EXPECT_EQ(program.functions[0]->values[0]->tuned_dims, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(program.functions[0]->notes,
            (std::vector<std::string>{"with N = 32: framework 0.94 ms, own 3.2 ms"}));
  EXPECT_TRUE(program.requirements.empty()) << "our backend runs all sizes";
}

TEST_F(PlansForSizes, SizesToBeFastestAtAreTheUsers) {
  request.shapes["x"] = *parse_requested_shape("2,6,8x2");
  EXPECT_EQ(ways(), "own; N 4 to 1000000000: framework");
  EXPECT_EQ(timed_at, (std::set<int64_t>{2, 6, 8}));
}

TEST_F(PlansForSizes, OneSizeIsOnePlan) {
  request.shapes["x"] = *parse_requested_shape("Nx2");
  EXPECT_EQ(ways(), "own");
  EXPECT_EQ(timed_at, (std::set<int64_t>{1}));
}

TEST_F(PlansForSizes, TheSamePlanEverywhereIsOne) {
  stretch = [](const fbs::ProgramT& program, int64_t) { return uses(program, "framework") ? 2000 : 1000; };
  EXPECT_EQ(ways(), "own");
}

TEST_F(PlansForSizes, AnEndThatTakesTooLongIsShortened) {
  request.shapes["x"] = *parse_requested_shape("1..1000000x2");
  EXPECT_EQ(ways(), "own; N 4 to 1000000: framework");
  EXPECT_EQ(timed_at, (std::set<int64_t>{1, 10'000})) << "a second by the time of one item";
}

TEST_F(PlansForSizes, ABusyMachineSeesLargeDifferencesOnly) {
  is_busy = true;
  EXPECT_EQ(ways(), "own; N 4 to 32: framework");
  request.cache_folder += "/other";
  stretch = [](const fbs::ProgramT& program, int64_t) {
    const int64_t items = program.functions[0]->values[0]->tuned_dims[0];
    return uses(program, "framework") ? 40'000 + 90'000 * items : 100'000 * items;
  };
  EXPECT_EQ(ways(), "own");
}

TEST_F(PlansForSizes, APlanThatIsGivenIsTheOnlyOne) {
  request.saved_plan_path = request.program_path + ".json";
  ways();
  request.plan_path = std::exchange(request.saved_plan_path, "");
  EXPECT_EQ(ways(), "own");
}

}  // namespace
}  // namespace intarsia
