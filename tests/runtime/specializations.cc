// Specializations of a function: a run takes the first that its sizes are for and that could be loaded.
//
// Covers: src/runtime/ specialized_function.cc
#include "runtime/specialized_function.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "runtime/fallback_session.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

constexpr int regions = 4;  // of open_chain

class Specializations : public testing::Test {
 protected:
  void open(const ProgramMaker& maker, const BindOptions& options = {}) {
    INTARSIA_CHECK(maker.write(folder_ / "p.so"));
    program_ = load_program(folder_ / "p.so", std::array{toy_backend()}).value();
    session_.emplace(FallbackSession::open(program_, options).value());
  }

  /// Returns the number of the function that runs with the size: 0 for the first, then its specializations;
  /// -1 if the values are wrong.
  int runs_at(size_t size) {
    Session& session = session_->session();
    std::set<int> seen;
    session.set_trace([&](const TraceEvent& event) { seen.insert(event.region / regions); });
    Floats x(size, 3), y(size);
    const NamedTensor inputs[] = {floats("x", x)};
    NamedTensor outputs[] = {floats("y", y)};
    const Status ran = session.run("", inputs, outputs);
    session.set_trace({});
    EXPECT_TRUE(ran) << ran.error().message;
    return ran && seen.size() == 1 && y == Floats(size, 48) ? *seen.begin() : -1;
  }

  const TestFolder folder_;
  std::shared_ptr<const LoadedProgram> program_;
  std::optional<FallbackSession> session_;
};

TEST_F(Specializations, TheFirstThatIsForTheSizesRuns) {
  ProgramMaker maker = open_chain(100);
  maker.specialization(2, 8);
  maker.specialization(7, 9);
  open(maker);
  const std::map<size_t, int> expected = {{1, 0}, {2, 1}, {7, 1}, {8, 1}, {9, 2}, {10, 0}, {0, 0}, {100, 0}};
  for (const auto& [size, function] : expected) EXPECT_EQ(runs_at(size), function) << size;
  for (const auto& [size, function] : expected) EXPECT_EQ(runs_at(size), function) << size << " again";
}

TEST_F(Specializations, OneWhoseLibraryIsMissingIsLeftOut) {
  ProgramMaker maker = open_chain(100);
  maker.program.regions[maker.specialization(2, 8)]->backend = "missing";
  maker.specialization(2, 4);
  open(maker);
  EXPECT_EQ(runs_at(3), 2);
  EXPECT_EQ(runs_at(5), 0);
}

TEST_F(Specializations, AnAlternativeHasNone) {
  ProgramMaker maker = open_chain(100);
  maker.alternative();
  maker.specialization(2, 8);
  open(maker);
  EXPECT_EQ(runs_at(3), 2);
  open(maker, {.alternative = 1});
  EXPECT_EQ(runs_at(3), 1);
}

TEST_F(Specializations, OpenSizesOutOfRangeAreTheSameError) {
  ProgramMaker maker = open_chain(100);
  maker.specialization(2, 8);
  open(maker);
  Floats x(101);
  const NamedTensor inputs[] = {floats("x", x)};
  const Status ran = session_->session().run("", inputs, {});
  ASSERT_FALSE(ran);
  EXPECT_TRUE(ran.error().message.contains("where 'N' is 101, want 0 to 100")) << ran.error().message;
}

}  // namespace
}  // namespace intarsia::test
