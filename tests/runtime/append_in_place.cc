// Outputs that begin at the address of the input that they continue.
//
// Covers: src/runtime/ bind_arguments.cc prepare_function.cc session.cc
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "runtime/session.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

/// Makes y = x and z, one after the other along axis 1; "append" adds 100 to what it copies of x.
ProgramMaker appending(int64_t outer) {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {outer, 3}), z = maker.input("z", {outer, 1}),
                 y = maker.output("y", {outer, 4});
  maker.run("append", {x, z}, {y});
  maker.function().values[y]->continues = 1;
  maker.function().values[y]->continued_axis = 1;
  return maker;
}

class AppendInPlace : public testing::Test {
 protected:
  std::shared_ptr<const BoundProgram> bind(const ProgramMaker& maker) {
    INTARSIA_CHECK(maker.write(folder_ / "p.so"));
    return bind_program(load_program(folder_ / "p.so", std::array{toy_backend()}).value(), {}).value();
  }

  /// Runs with y at x + `offset`.
  static Status run(Session& session, Floats& x, Floats z, int64_t offset = 0) {
    const auto outer = static_cast<int64_t>(z.size());
    const NamedTensor inputs[] = {{"x", {x.data(), DType::f32, {outer, 3}}, nullptr},
                                  floats("z", z, {outer, 1})};
    NamedTensor outputs[] = {{"y", {x.data() + offset, DType::f32, {outer, 4}}, nullptr}};
    return session.run("", inputs, outputs);
  }

  const TestFolder folder_;
};

constexpr SessionOptions in_place = {.append_in_place = true};

TEST_F(AppendInPlace, TheInputStaysAsItIs) {
  Session session = Session::create(bind(appending(1)), in_place).value();
  Floats x = {1, 2, 3, 0};
  ASSERT_TRUE(run(session, x, {4}));
  EXPECT_EQ(x, (Floats{1, 2, 3, 4}));
}

TEST_F(AppendInPlace, OfSeveralRowsTheOutputIsComputedElsewhere) {
  Session session = Session::create(bind(appending(2)), in_place).value();
  Floats x = {1, 2, 3, 4, 5, 6, 0, 0};
  ASSERT_TRUE(run(session, x, {7, 8}));
  EXPECT_EQ(x, (Floats{101, 102, 103, 104, 105, 106, 7, 8}));
}

TEST_F(AppendInPlace, AStepThatCannotAppendComputesItElsewhere) {
  ProgramMaker maker = appending(1);
  std::swap(maker.function().steps[0]->inputs[0], maker.function().steps[0]->inputs[1]);
  Session session = Session::create(bind(maker), in_place).value();
  Floats x = {1, 2, 3, 0};
  ASSERT_TRUE(run(session, x, {4}));
  EXPECT_EQ(x, (Floats{104, 1, 2, 3}));
}

TEST_F(AppendInPlace, OtherOverlapsAreErrors) {
  const auto program = bind(appending(1));
  Session without = Session::create(program).value(), with = Session::create(program, in_place).value();
  Floats memory(16);
  EXPECT_EQ(
      run(without, memory, {4}).error().message,
      "output 'y' begins at the address of input 'x', which it continues; bind with append_in_place, or give "
      "a separate buffer");
  Floats later(memory.begin() + 4, memory.end());
  EXPECT_EQ(run(with, later, {4}, 1).error().message,
            "output 'y' overlaps an input's memory; want a separate buffer");
  EXPECT_TRUE(run(with, later, {4}, 3));
}

TEST_F(AppendInPlace, ThreadsHaveASessionEach) {
  const auto program = bind(appending(1));
  const auto run_often = [&] {
    Session session = Session::create(program, in_place).value();
    Floats x = {1, 2, 3, 0};
    for (int i = 0; i < 100; ++i) {
      const auto number = static_cast<float>(i);
      EXPECT_TRUE(run(session, x, {number}));
      EXPECT_EQ(x, (Floats{1, 2, 3, number}));
    }
  };
  std::thread other(run_often);
  run_often();
  other.join();
}

}  // namespace
}  // namespace intarsia::test
