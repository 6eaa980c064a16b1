// Calls that may run at the same time: what each reads and writes in all of its runs tells.
//
// Covers: backends/halide/runtime/ calls_beside.cc
#include "backends/halide/runtime/calls_beside.h"

#include <gtest/gtest.h>

namespace intarsia::test {
namespace {

using halide::BufferPlan;
using Where = BufferPlan::Where;

/// Argument of `floats` floats, which moves by `step` floats from run to run.
struct Part {
  Where where;
  uint64_t at;  // in floats
  int32_t floats;
  int64_t step = 0;
  uint32_t index = 0;
};

struct Call {
  uint32_t times;
  std::vector<Part> parts;  // the last one is written
};

/// Returns the pairs (call, last call beside it).
std::vector<halide::CallsBeside> find(const std::vector<Call>& calls) {
  halide::RegionCode code;
  for (const Call& call : calls) {
    halide::CallPlan& to = code.calls.emplace_back();
    to.times = call.times;
    for (const Part& part : call.parts) {
      to.buffers.push_back(static_cast<uint32_t>(code.buffers.size()));
      to.steps.push_back(4 * part.step);
      code.buffers.push_back({.where = part.where,
                              .index = part.index,
                              .offset = 4 * part.at,
                              .type = {2, 32, 1},
                              .dimensions = {{0, part.floats, 1, 0}}});
    }
  }
  return halide::find_calls_beside(code);
}

using Beside = std::vector<halide::CallsBeside>;

/// Steps over states of 10 floats: from `at` on, each reads the state before its own.
Call steps(uint64_t at, int64_t step, uint32_t times = 99) {
  return {times,
          {{Where::workspace, static_cast<uint64_t>(static_cast<int64_t>(at) - step), 10, step},
           {Where::workspace, at, 10, step}}};
}

Call first_step(uint64_t at) { return {1, {{Where::constant, 0, 10}, {Where::workspace, at, 10}}}; }

TEST(CallsBeside, BothDirectionsOfARecurrence) {
  EXPECT_EQ(find({first_step(0), steps(10, 10), first_step(1990), steps(1980, -10)}), (Beside{{1, 3}}));
  EXPECT_EQ(find({steps(10, 10), steps(2010, 10)}), (Beside{{0, 1}}));
}

TEST(CallsBeside, OneThatReadsWhatTheOtherWritesComesAfterIt) {
  EXPECT_EQ(find({steps(10, 10), steps(1000, 10)}), Beside{}) << "floats 10 to 1000, and 990 to 1990";
  EXPECT_EQ(find({steps(10, 10), steps(1009, 10, 8)}), Beside{});
  EXPECT_EQ(find({steps(10, 10), steps(1010, 10)}), (Beside{{0, 1}}))
      << "reads floats 1000 to 1990, which begin where the others end";
  EXPECT_EQ(find({steps(2000, -10), steps(2010, 10)}), Beside{}) << "both read the same, one from itself";
}

TEST(CallsBeside, WhatIsBetweenThemIsOnTheOtherSide) {
  EXPECT_EQ(
      find({steps(10, 10), {1, {{Where::workspace, 500, 1}, {Where::workspace, 5000, 1}}}, steps(2010, 10)}),
      Beside{})
      << "it reads a state of the first";
  EXPECT_EQ(find({steps(10, 10), first_step(2000), first_step(3000), first_step(4000), first_step(5000),
                  first_step(6000), steps(7010, 10)}),
            Beside{})
      << "too many";
}

TEST(CallsBeside, FewRunsAreNotWorthIt) { EXPECT_EQ(find({steps(10, 10), steps(2010, 10, 7)}), Beside{}); }

TEST(CallsBeside, TensorsOfDifferentNumbersAreApart) {
  const auto to_output = [](uint32_t index) {
    return Call{99, {{Where::input, 0, 10, 10, 0}, {Where::output, 0, 10, 10, index}}};
  };
  EXPECT_EQ(find({to_output(0), to_output(1)}), (Beside{{0, 1}}));
  EXPECT_EQ(find({to_output(0), to_output(0)}), Beside{});
}

TEST(CallsBeside, AThirdOneIsAlone) {
  EXPECT_EQ(find({steps(10, 10), steps(2010, 10), steps(4010, 10), steps(6010, 10)}),
            (Beside{{0, 1}, {2, 3}}));
}

}  // namespace
}  // namespace intarsia::test
