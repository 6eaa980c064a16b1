// Rules for steps with bodies: each is broken in a valid program, and the error says so.
//
// Covers: src/program/ verify_bodies.cc
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "program/print_program.h"
#include "program/verify_program.h"
#include "tests/support/bodies_support.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

struct BodyCase {
  const char* message;
  std::function<void(ProgramMaker&)> damage;
};

fbs::StepT& step_of(ProgramMaker& m) { return *m.function().steps[0]; }
fbs::FunctionT& body_of(ProgramMaker& m, size_t number = 0) { return *step_of(m).bodies[number]; }

// Cases of counted_sum: values m (0), x (1), y (2), all (3); the body's are i (0), v (1), x (2), w (3), row
// (4).
const BodyCase cases_of_loops[] = {
    {"it has bodies, but the program does not need 'calls'", [](auto& m) { m.program.needs.clear(); }},
    {"step 0: region 9 of 3", [](auto& m) { step_of(m).region = 9; }},
    {"step 0: region 2 is not on the host",
     [](auto& m) { m.program.regions[2]->slot = m.slot("a", "sim", "sim:0"); }},
    {"step 0: body 0: it has other ways to run it, or stages",
     [](auto& m) { body_of(m).alternatives.push_back(std::make_unique<fbs::FunctionT>()); }},
    {"body 0: step 0: region 7 of 3", [](auto& m) { body_of(m).steps[0]->region = 7; }},
    {"body 0: step 0: reads value 9 of 5", [](auto& m) { body_of(m).steps[0]->inputs[0] = 9; }},
    {"body 0: 0 arenas for 1 spaces", [](auto& m) { body_of(m).arena_bytes.clear(); }},
    {"step 0: it has bodies that it does not run", [](auto& m) { step_of(m).kind = fbs::StepKind::run; }},
    {"step 0: 2 bodies; want 1",
     [](auto& m) { step_of(m).bodies.push_back(std::make_unique<fbs::FunctionT>(body_of(m))); }},
    {"step 0: 0 bodies; want 1", [](auto& m) { step_of(m).bodies.clear(); }},
    {"step 0: 3 inputs for a body of 3", [](auto& m) { step_of(m).has_condition = true; }},
    {"step 0: 3 inputs for a body of 3", [](auto& m) { step_of(m).carried = 5; }},
    {"step 0: 3 inputs for a body of 3", [](auto& m) { step_of(m).scanned = 0xffffffff; }},
    {"step 0: 2 outputs for a body of 2", [](auto& m) { step_of(m).checks_condition = true; }},
    {"a loop that nothing ends",
     [](auto& m) {
       step_of(m).has_trip_count = false;
       step_of(m).inputs.erase(step_of(m).inputs.begin());
     }},
    {"'m' is not one i64", [](auto& m) { m.function().values[0]->dims = {2}; }},
    {"'i' is not one i64", [](auto& m) { body_of(m).values[0]->dims = {2}; }},
    {"'x' has another dtype than the body's 'v'",
     [](auto& m) { body_of(m).values[1]->dtype = static_cast<uint8_t>(DType::i32); }},
    {"'all' does not have one axis more than the body's 'row'",
     [](auto& m) { m.function().values[3]->dims = {-1}; }},
    {"'x' does not consist of numbers of whole bytes",
     [](auto& m) { m.function().values[1]->dtype = static_cast<uint8_t>(DType::string); }},
};

// Cases of branch_of_two: values c (0), x (1), y (2); each body's are x (0), y (1).
const BodyCase cases_of_branches[] = {
    {"step 0: 1 bodies; want 2", [](auto& m) { step_of(m).bodies.pop_back(); }},
    {"step 0: 2 inputs for a condition and 1 and 1 inputs of bodies",
     [](auto& m) { step_of(m).inputs.pop_back(); }},
    {"'c' is not one bool", [](auto& m) { m.function().values[0]->dims = {3}; }},
    {"body 1: step 0: region 9 of 3", [](auto& m) { body_of(m, 1).steps[0]->region = 9; }},
    {"'y' has another dtype than the body's 'y'",
     [](auto& m) { body_of(m, 1).values[1]->dtype = static_cast<uint8_t>(DType::i32); }},
};

template <size_t count>
void expect_errors(const BodyCase (&cases)[count], ProgramMaker (*make)()) {
  const TestFolder folder;
  for (const BodyCase& one : cases) {
    ProgramMaker maker = make();
    ASSERT_TRUE(maker.write(folder / "p.so"));
    one.damage(maker);
    const Status status = maker.write(folder / "p.so");
    ASSERT_FALSE(status) << one.message;
    EXPECT_NE(status.error().message.find(one.message), std::string::npos) << status.error().message;
  }
}

TEST(VerifyBodies, NamesWhatIsBrokenOfLoops) { expect_errors(cases_of_loops, counted_sum); }
TEST(VerifyBodies, NamesWhatIsBrokenOfBranches) { expect_errors(cases_of_branches, branch_of_two); }

/// Changes one number of a step, or of a value or step of one of its bodies.
void damage_randomly(fbs::StepT& step, std::mt19937& random) {
  const auto number = [&] { return static_cast<uint32_t>(random() % 3 == 0 ? random() : random() % 6); };
  const auto change = [&](std::vector<uint32_t>& list) {
    const size_t at = random() % (list.size() + 1);
    if (at == list.size())
      list.push_back(number());
    else if (random() % 4 == 0)
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    else
      list[at] = number();
  };
  switch (random() % 9) {
    case 0:
      return change(step.inputs);
    case 1:
      return change(step.outputs);
    case 2:
      step.carried = number();
      return;
    case 3:
      step.scanned = number();
      return;
    case 4:
      step.region = number();
      return;
    case 5:
      step.has_trip_count = !step.has_trip_count;
      return;
    case 6:
      step.checks_condition = !step.checks_condition;
      return;
    case 7:
      step.kind = static_cast<fbs::StepKind>(random() % 5);
      return;
    default:
      break;
  }
  if (step.bodies.empty()) return;
  fbs::FunctionT& inner = *step.bodies[random() % step.bodies.size()];
  if (random() % 2 == 0 && !inner.steps.empty()) return damage_randomly(*inner.steps[0], random);
  if (random() % 2 == 0) return change(random() % 2 == 0 ? inner.inputs : inner.outputs);
  fbs::ValueT& value = *inner.values[random() % inner.values.size()];
  if (random() % 2 == 0)
    value.dims.push_back(static_cast<int64_t>(random() % 4) - 1);
  else
    value.dtype = static_cast<uint8_t>(random() % 30);
}

TEST(VerifyBodies, RandomDamageIsAnErrorOrHarmless) {
  std::mt19937 random(7);
  int errors = 0;
  constexpr int rounds = 20'000;
  for (int round = 0; round < rounds; ++round) {
    ProgramMaker maker = round % 2 == 0 ? counted_sum() : branch_of_two();
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) damage_randomly(step_of(maker), random);
    const Status status = verify_program(maker.program, 0, 0);
    errors += !status;
    if (status) {
      EXPECT_FALSE(print_program(maker.program).empty());
    }
  }
  EXPECT_GT(errors, rounds / 2);
  EXPECT_LT(errors, rounds);
}

}  // namespace
}  // namespace intarsia::test
