// Branches and loops in hand-made programs: values, runs one after the other, traces and errors.
//
// Covers: src/runtime/ body_step.cc
#include "runtime/body_step.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "tests/support/bodies_support.h"

namespace intarsia::test {
namespace {

class BodySteps : public testing::Test {
 protected:
  void open(const ProgramMaker& maker) {
    INTARSIA_CHECK(maker.write(folder_ / "p.so"));
    const auto program = load_program(folder_ / "p.so", std::array{toy_backend()}).value();
    session_.emplace(Session::create(bind_program(program, {}).value()).value());
  }

  /// Runs counted_sum; returns y and then all rows.
  std::vector<Floats> sum(int64_t trips, Floats x) {
    Floats y(4);
    const NamedTensor inputs[] = {{"m", {&trips, DType::i64, {}}, nullptr}, floats("x", x)};
    NamedTensor outputs[] = {floats("y", y), {"all", {}, nullptr}};
    const Status ran = session_->run("", inputs, outputs);
    EXPECT_TRUE(ran) << ran.error().message;
    std::vector<Floats> rows{y};
    EXPECT_EQ(outputs[1].tensor.shape, (Shape{std::max<int64_t>(trips, 0), 4}));
    const std::span<float> all = outputs[1].tensor.as<float>();
    for (size_t i = 0; i < all.size(); i += 4) rows.emplace_back(all.begin() + i, all.begin() + i + 4);
    return rows;
  }

  Floats choose(bool condition, Floats x) {
    Floats y(4);
    const NamedTensor inputs[] = {{"c", {&condition, DType::boolean, {}}, nullptr}, floats("x", x)};
    NamedTensor outputs[] = {floats("y", y)};
    const Status ran = session_->run("", inputs, outputs);
    EXPECT_TRUE(ran) << ran.error().message;
    return y;
  }

  const TestFolder folder_;
  std::optional<Session> session_;
};

TEST_F(BodySteps, ALoopRunsAsOftenAsItsInputSays) {
  open(counted_sum());
  for (const int64_t trips : {3, 0, 1, 2, 20, -5, 3}) {
    const std::vector<Floats> rows = sum(trips, {1, 2, 3, -4});
    const auto count = static_cast<float>(std::max<int64_t>(trips, 0));
    EXPECT_EQ(rows[0], (Floats{1 + count, 2 + 2 * count, 3 + 3 * count, -4 - 4 * count})) << trips;
    for (size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i][0], static_cast<float>(i)) << trips;
  }
}

TEST_F(BodySteps, ABranchRunsOneBody) {
  open(branch_of_two());
  for (const bool condition : {true, false, true}) {
    const float factor = condition ? 2 : 3;
    EXPECT_EQ(choose(condition, {1, 2, 3, 4}), (Floats{factor, 2 * factor, 3 * factor, 4 * factor}));
  }
}

TEST_F(BodySteps, ATraceHasTheRegionsOfEachIteration) {
  open(counted_sum());
  std::map<std::string, int> events;
  session_->set_trace(
      [&](const TraceEvent& event) { ++events[fmt::format("{} {}", event.kind, event.region)]; });
  sum(5, {1, 2, 3, 4});
  EXPECT_EQ(events, (std::map<std::string, int>{{"bodies 2", 1}, {"region 0", 5}, {"region 1", 5}}));
}

TEST_F(BodySteps, AnErrorNamesTheIteration) {
  ProgramMaker maker = counted_sum();
  maker.blobs[1] = "fail";
  open(maker);
  int64_t trips = 2;
  Floats x(4), y(4);
  const NamedTensor inputs[] = {{"m", {&trips, DType::i64, {}}, nullptr}, floats("x", x)};
  NamedTensor outputs[] = {floats("y", y), {"all", {}, nullptr}};
  const Status ran = session_->run("", inputs, outputs);
  ASSERT_FALSE(ran);
  EXPECT_NE(ran.error().message.find("iteration 0"), std::string::npos) << ran.error().message;
  EXPECT_NE(ran.error().message.find("on purpose"), std::string::npos) << ran.error().message;
}

TEST_F(BodySteps, AMissingBackendOfABodyIsAnErrorOfLoading) {
  ProgramMaker maker = counted_sum();
  maker.program.regions[0]->backend = "missing";
  INTARSIA_CHECK(maker.write(folder_ / "p.so"));
  EXPECT_FALSE(load_program(folder_ / "p.so", std::array{toy_backend()}));
}

}  // namespace
}  // namespace intarsia::test
