#include "tests/support/bodies_support.h"

namespace intarsia::test {
namespace {

/// Moves the function that was made, whose regions stay, out of the way of another one.
std::unique_ptr<fbs::FunctionT> take_function(ProgramMaker& m, const std::string& name) {
  auto taken = std::make_unique<fbs::FunctionT>(std::move(m.function()));
  taken->name = name;
  m.function() = fbs::FunctionT();
  m.function().name = "main";
  m.function().arena_bytes = {0};
  return taken;
}

/// Adds a step with bodies, and the region that it stands for in reports.
fbs::StepT& add_step(ProgramMaker& m, fbs::StepKind kind, std::vector<uint32_t> inputs,
                     std::vector<uint32_t> outputs) {
  m.run("add", std::move(inputs), std::move(outputs));
  fbs::StepT& step = *m.function().steps.back();
  step.kind = kind;
  m.program.needs.emplace_back(calls_feature);
  return step;
}

}  // namespace

ProgramMaker counted_sum() {
  ProgramMaker m;
  m.input("i", {}, DType::i64);
  const uint32_t v = m.input("v", {4}), outer = m.input("x", {4});
  m.run("add", {v, outer}, {m.output("w", {4})});
  m.run("add", {v}, {m.output("row", {4})});
  std::unique_ptr<fbs::FunctionT> body = take_function(m, "again");
  const uint32_t trips = m.input("m", {}, DType::i64), x = m.input("x", {4});
  const uint32_t y = m.output("y", {4}), all = m.dynamic_output("all", {-1, 4});
  fbs::StepT& step = add_step(m, fbs::StepKind::loop, {trips, x, x}, {y, all});
  step.has_trip_count = true;
  step.carried = 1;
  step.bodies.push_back(std::move(body));
  return m;
}

ProgramMaker branch_of_two() {
  ProgramMaker m;
  std::vector<std::unique_ptr<fbs::FunctionT>> bodies;
  for (const char* name : {"twice", "thrice"}) {
    const uint32_t x = m.input("x", {4});
    std::vector<uint32_t> summands(bodies.empty() ? 2 : 3, x);
    m.run("add", summands, {m.output("y", {4})});
    bodies.push_back(take_function(m, name));
  }
  const uint32_t c = m.input("c", {}, DType::boolean), x = m.input("x", {4});
  fbs::StepT& step = add_step(m, fbs::StepKind::branch, {c, x, x}, {m.output("y", {4})});
  step.bodies = std::move(bodies);
  return m;
}

}  // namespace intarsia::test
