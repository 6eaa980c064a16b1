// Stages of a function as sessions of their own: hand-made programs over the toy backend.
//
// Covers: src/runtime/ bind_program.cc
#include <gtest/gtest.h>

#include "runtime/session.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

/// Fixture for y = t + x with t = x + 1: the second stage also reads the input of the program that the first
/// reads.
class StageTest : public testing::Test {
 protected:
  void write(const ProgramMaker& maker) {
    const Status written = maker.write(folder_ / "p.so");
    ASSERT_TRUE(written) << written.error().message;
    program_ = load_program(folder_ / "p.so", backends_).value();
  }

  Result<Session> open(const BindOptions& options) const {
    return Session::create(TRY(bind_program(program_, options)));
  }

  std::string error_of(const StageChoice& stage) const {
    const auto session = open({.devices = {}, .stage = stage});
    return session ? "none" : session.error().message;
  }

  static ProgramMaker divided() {
    ProgramMaker maker = small_program();
    maker.divide();
    return maker;
  }

  TestFolder folder_;
  std::vector<RunBackend> backends_ = {toy_backend()};
  std::shared_ptr<const LoadedProgram> program_;
};

TEST_F(StageTest, StagesInTurnMakeWhatTheFunctionMakes) {
  write(divided());
  Result<Session> first = open({.devices = {}, .stage = StageChoice{.function = "main", .stage = 0}});
  Result<Session> second = open({.devices = {}, .stage = StageChoice{.function = "", .stage = 1}});
  Result<Session> whole = open({});
  ASSERT_TRUE(first && second && whole);
  Floats x = {1, 2, 3, 4}, t(4), y(4), expected(4);
  const NamedTensor to_first[] = {floats("x", x)}, to_second[] = {floats("t", t), floats("x", x)};
  NamedTensor from_first[] = {floats("t", t)}, from_second[] = {floats("y", y)},
              from_whole[] = {floats("y", expected)};
  ASSERT_TRUE(first->run("", to_first, from_first));
  EXPECT_EQ(t, (Floats{2, 3, 4, 5}));
  ASSERT_TRUE(second->run("stage1", to_second, from_second));
  ASSERT_TRUE(whole->run("main", to_first, from_whole));
  EXPECT_EQ(y, expected);
}

TEST_F(StageTest, OnlyItsRegionsAreLoaded) {
  write(divided());
  const auto bound =
      bind_program(program_, {.devices = {}, .stage = StageChoice{.function = "", .stage = 1}});
  ASSERT_TRUE(bound);
  EXPECT_EQ((*bound)->executables[0], nullptr);
  EXPECT_NE((*bound)->executables[1], nullptr);
  EXPECT_EQ((*bound)->functions.size(), 1u);
  const auto whole = bind_program(program_, {});
  EXPECT_NE((*whole)->executables[0], nullptr) << "a stage's binding is not that of the whole";
}

TEST_F(StageTest, ReplicasHaveExecutorsOfTheirOwn) {
  ProgramMaker maker = divided();
  maker.function().stages[0]->executors = {"cpu", "cpu:0"};
  write(maker);
  const auto name_of = [&](uint32_t executor,
                           const std::vector<std::pair<std::string, std::string>>& devices) {
    const auto bound =
        bind_program(program_, {.devices = devices, .stage = StageChoice{.stage = 0, .executor = executor}});
    return std::string((*bound)->executors[0]->name());
  };
  EXPECT_EQ(name_of(0, {}), "cpu");
  EXPECT_EQ(name_of(1, {}), "cpu:0");
  EXPECT_EQ(name_of(1, {{"cpu", "cpu"}}), "cpu") << "what the caller binds goes first";
}

TEST_F(StageTest, WhatIsNotThere) {
  write(divided());
  EXPECT_EQ(error_of({.function = "other"}), "no function 'other'; the program has: main");
  EXPECT_EQ(error_of({.stage = 2}),
            "no stage 2 of function 'main', which has 2: compile the model with --objective throughput for "
            "stages");
  EXPECT_EQ(error_of({.stage = 1, .executor = 1}), "no executor 1 of stage 1, which has 1");
  write(small_program());
  EXPECT_NE(error_of({.stage = 0}).find("which has 0"), std::string::npos);
}

}  // namespace
}  // namespace intarsia::test
