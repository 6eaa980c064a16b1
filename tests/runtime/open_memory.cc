// Memory of values whose sizes a run tells: placed once for each combination of sizes, in arenas that grow.
//
// Covers: src/runtime/ open_arenas.cc size_plan.cc
#include <gtest/gtest.h>

#include <array>

#include "runtime/session.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

class OpenMemory : public testing::Test {
 protected:
  Session open_session(uint64_t largest, uint64_t max_arena_bytes = 0) {
    INTARSIA_CHECK(open_chain(largest).write(folder_ / "p.so"));
    const auto program = load_program(folder_ / "p.so", std::array{toy_backend()});
    return Session::create(bind_program(program.value(), {}).value(), {max_arena_bytes}).value();
  }

  /// Runs x = 1, 2, ... and checks y.
  static void expect_right(Session& session, size_t size) {
    Floats x(size), y(size);
    for (size_t i = 0; i < size; ++i) x[i] = static_cast<float>(i + 1);
    const NamedTensor inputs[] = {floats("x", x)};
    NamedTensor outputs[] = {floats("y", y)};
    const Status ran = session.run("", inputs, outputs);
    ASSERT_TRUE(ran) << ran.error().message;
    for (size_t i = 0; i < size; ++i) ASSERT_EQ(y[i], 16 * x[i]);
  }

  const TestFolder folder_;
};

constexpr uint64_t any_size = 1'000'000'000;

TEST_F(OpenMemory, GrowsAndIsShared) {
  Session session = open_session(any_size);
  EXPECT_EQ(session.arena_bytes(), 0u);
  expect_right(session, 16);
  EXPECT_EQ(session.arena_bytes(), 128u);  // two values at a time of 64 bytes each
  expect_right(session, 1);
  EXPECT_EQ(session.arena_bytes(), 128u);
  expect_right(session, 17);
  EXPECT_EQ(session.arena_bytes(), 256u);
  expect_right(session, 32);
  expect_right(session, 0);
  EXPECT_EQ(session.arena_bytes(), 256u);
}

TEST_F(OpenMemory, GrowsByAQuarterAtLeast) {
  Session session = open_session(any_size);
  expect_right(session, 1600);
  EXPECT_EQ(session.arena_bytes(), 12800u);
  expect_right(session, 1601);
  EXPECT_EQ(session.arena_bytes(), 16000u);
}

TEST_F(OpenMemory, IsReservedForTheLargestSize) {
  Session session = open_session(32);
  EXPECT_EQ(session.arena_bytes(), 256u);
  expect_right(session, 32);
  EXPECT_EQ(session.arena_bytes(), 256u);
}

TEST_F(OpenMemory, HasALimit) {
  Session session = open_session(any_size, 128);
  Floats x(17);
  const NamedTensor inputs[] = {floats("x", x)};
  NamedTensor outputs[] = {{"y", {nullptr, DType::f32, {}}, nullptr}};
  const Status ran = session.run("", inputs, outputs);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::out_of_memory);
  EXPECT_EQ(ran.error().message,
            "with N = 17 (input 'x'): 256 bytes of working memory on 'cpu', where the session may take 128 "
            "(max_arena_bytes)");
  expect_right(session, 16);
}

TEST_F(OpenMemory, LargestSizesBeyondTheLimitAreNotReserved) {
  Session session = open_session(1 << 20, 128);
  EXPECT_EQ(session.arena_bytes(), 0u);
  expect_right(session, 16);
}

TEST_F(OpenMemory, MakesOutputsOfTheSizesOfTheRun) {
  Session session = open_session(any_size);
  for (const size_t size : {3u, 5u}) {
    Floats x(size, 1);
    const NamedTensor inputs[] = {floats("x", x)};
    NamedTensor outputs[] = {{"y", {nullptr, DType::f32, {}}, nullptr}};
    ASSERT_TRUE(session.run("", inputs, outputs));
    EXPECT_EQ(outputs[0].tensor.shape, Shape{static_cast<int64_t>(size)});
    EXPECT_EQ(outputs[0].tensor.as<float>()[size - 1], 16);
  }
}

}  // namespace
}  // namespace intarsia::test
