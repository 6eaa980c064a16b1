// Contents of profiles: kernels with and without notes, operators of a framework, regions that report
// nothing.
//
// Covers: src/runtime/ allocate_value.cc kernel_notes.cc profile_session.cc
#include "runtime/profile_session.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/flat_buffer.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

/// Executable that works for a millisecond, then reports two kernels or, as a framework, two operators that
/// add up to more.
class TalkingExecutable : public Executable {
 public:
  explicit TalkingExecutable(std::string blob) : blob_(std::move(blob)) {}

  Status run(const RunContext& context) const override {
    const int64_t begin = clock_nanoseconds();
    while (clock_nanoseconds() < begin + half) continue;
    const int64_t middle = clock_nanoseconds();
    while (clock_nanoseconds() < middle + half) continue;
    if (context.trace == nullptr) return {};
    if (blob_ == "kernels") {
      (*context.trace)("first: Conv Relu", begin, middle);
      (*context.trace)("second: MatMul", middle, clock_nanoseconds());
    } else if (blob_ == "operators" && context.is_profile) {
      (*context.trace)("second: MatMul", 0, 30 * half);
      (*context.trace)("t: FusedConv", 0, 10 * half);
    }
    return {};
  }

 private:
  static constexpr int64_t half = 500'000;
  std::string blob_;
};

Result<std::unique_ptr<Executable>> load_talking(const LoadContext& context) {
  return std::make_unique<TalkingExecutable>(std::string(as_text(context.blob)));
}

std::unique_ptr<fbs::KernelNoteT> make_note(std::vector<uint32_t> nodes, const std::string& output,
                                            uint64_t operations) {
  auto note = std::make_unique<fbs::KernelNoteT>();
  note->nodes = std::move(nodes);
  note->output = output;
  note->dtype = static_cast<uint8_t>(DType::f32);
  note->dims = {2, 3};
  note->operations = operations;
  note->algorithm = operations > 0 ? "gemm" : "";
  return note;
}

/// Makes y of x by a region of nodes "first" (Conv), "relu" and "second" (MatMul).
ProgramMaker one_region(const std::string& blob) {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {4}), y = maker.output("y", {4});
  maker.run(blob, {x}, {y});
  maker.note("first", "Conv", 0);
  maker.note("relu", "Relu", 0);
  maker.note("second", "MatMul", 0);
  return maker;
}

void add_notes(ProgramMaker& maker, bool in_order) {
  fbs::KernelNotesT notes;
  notes.in_order = in_order;
  notes.notes.push_back(make_note(in_order ? std::vector<uint32_t>{0, 1} : std::vector<uint32_t>{0}, "t", 6));
  notes.notes.push_back(make_note({2}, "y", 8));
  const std::string bytes = pack_table<fbs::KernelNotes>(notes);
  maker.program.regions[0]->kernel_notes.assign(bytes.begin(), bytes.end());
}

class ProfileTest : public testing::Test {
 protected:
  Result<Profile> profile(const ProgramMaker& maker, size_t runs = 6) {
    TRY(maker.write(folder_ / "p.so"));
    const RunBackend backends[] = {{"toy", load_talking}};
    session_.emplace(
        TRY(Session::create(TRY(bind_program(TRY(load_program(folder_ / "p.so", backends)), {})))));
    session_->set_trace([this](const TraceEvent&) { ++traced_; });
    std::vector<float> numbers(4);
    const NamedTensor inputs[] = {{"x", TensorView{numbers.data(), DType::f32, {4}}, nullptr}};
    Profile made = TRY(profile_session(*session_, "", inputs, runs));
    EXPECT_EQ(traced_, 0) << "the runs of a profile are its own";
    NamedTensor outputs[] = {{"y", {}, nullptr}};
    TRY(session_->run("", inputs, outputs));
    EXPECT_GT(traced_, 0) << "the trace is there again";
    return made;
  }

  static int64_t sum(const Profile& profile) {
    int64_t all = 0;
    for (const ProfileEntry& entry : profile.entries) all += entry.nanoseconds;
    return all;
  }

  TestFolder folder_;
  std::optional<Session> session_;
  int traced_ = 0;
};

TEST_F(ProfileTest, KernelsWithNotes) {
  ProgramMaker maker = one_region("kernels");
  add_notes(maker, true);
  const auto made = profile(maker);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->runs, 6u);
  ASSERT_EQ(made->entries.size(), 2u);
  EXPECT_LE(sum(*made), made->run_nanoseconds);
  EXPECT_GE(sum(*made), 1'000'000);
  EXPECT_GE(made->entries[0].nanoseconds, made->entries[1].nanoseconds);
  const auto& conv = made->entries[made->entries[0].name.starts_with("first") ? 0 : 1];
  EXPECT_EQ(conv.kind, ProfileEntry::Kind::kernel);
  EXPECT_EQ(conv.target, "toy@cpu");
  ASSERT_EQ(conv.nodes.size(), 2u);
  EXPECT_EQ(conv.nodes[0].name + " " + conv.nodes[1].op, "first Relu");
  EXPECT_EQ(conv.shape, (Shape{2, 3}));
  EXPECT_EQ(conv.operations, 6u);
  EXPECT_EQ(conv.algorithm, "gemm");
}

TEST_F(ProfileTest, KernelsWithoutNotes) {
  ProgramMaker damaged = one_region("kernels"), other = one_region("kernels");
  add_notes(damaged, true);
  damaged.program.regions[0]->kernel_notes.resize(7);
  fbs::KernelNotesT one;  // notes of a program with other kernels
  one.in_order = true;
  one.notes.push_back(make_note({0}, "", 6));
  const std::string bytes = pack_table<fbs::KernelNotes>(one);
  other.program.regions[0]->kernel_notes.assign(bytes.begin(), bytes.end());
  for (const ProgramMaker* maker : {&damaged, &other}) {
    traced_ = 0;
    const auto made = profile(*maker);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_EQ(made->entries.size(), 2u);
    for (const ProfileEntry& entry : made->entries) {
      EXPECT_TRUE(entry.nodes.empty() && !entry.shape && entry.operations == 0);
      EXPECT_FALSE(entry.name.empty());
    }
  }
}

/// Checks operators that are found by the name of a node or of the value that it makes, and share the
/// region's time.
TEST_F(ProfileTest, OperatorsOfAFramework) {
  ProgramMaker maker = one_region("operators");
  add_notes(maker, false);
  const auto made = profile(maker);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->entries.size(), 2u);
  EXPECT_LE(sum(*made), made->run_nanoseconds);
  const ProfileEntry &product = made->entries[0], &conv = made->entries[1];
  EXPECT_EQ(product.kind, ProfileEntry::Kind::op);
  EXPECT_NEAR(static_cast<double>(product.nanoseconds), 3.0 * static_cast<double>(conv.nanoseconds), 10);
  EXPECT_EQ(product.operations, 8u);
  EXPECT_EQ(conv.name, "t: FusedConv");
  ASSERT_EQ(conv.nodes.size(), 1u);
  EXPECT_EQ(conv.nodes[0].name, "first");
}

/// Checks "t: FusedConv", which is named for the value that the Relu makes, and also computes the Conv.
TEST_F(ProfileTest, AnOperatorThatIsNamedForWhatItFused) {
  ProgramMaker maker = one_region("operators");
  fbs::KernelNotesT notes;
  notes.notes.push_back(make_note({0}, "c", 6));
  notes.notes.push_back(make_note({1}, "t", 0));
  notes.notes.push_back(make_note({2}, "y", 8));
  notes.notes[1]->fused = {0};
  const std::string bytes = pack_table<fbs::KernelNotes>(notes);
  maker.program.regions[0]->kernel_notes.assign(bytes.begin(), bytes.end());
  const auto made = profile(maker);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->entries.size(), 2u);
  const ProfileEntry& conv = made->entries[1];
  EXPECT_EQ(conv.operations, 6u);
  ASSERT_EQ(conv.nodes.size(), 2u);
  EXPECT_EQ(conv.nodes[0].op + conv.nodes[1].op, "ConvRelu");
}

TEST_F(ProfileTest, ARegionThatTellsNothing) {
  ProgramMaker maker = one_region("silent");
  add_notes(maker, false);
  const auto made = profile(maker);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->entries.size(), 1u);
  EXPECT_EQ(made->entries[0].kind, ProfileEntry::Kind::region);
  EXPECT_EQ(made->entries[0].name, "first: Conv Relu MatMul");
  EXPECT_EQ(made->entries[0].nodes.size(), 3u);
  EXPECT_EQ(made->entries[0].operations, 14u);
  EXPECT_LE(sum(*made), made->run_nanoseconds);
}

TEST_F(ProfileTest, RunsAsOftenAsFitsIntoASecond) {
  const auto made = profile(one_region("silent"), 0);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_GE(made->runs, 5u);
  EXPECT_LE(made->runs, 200u);
}

TEST_F(ProfileTest, WhatFailsIsAnErrorAndTheTraceIsKept) {
  const auto made = profile(one_region("silent"), 1);
  ASSERT_TRUE(made) << made.error().message;
  traced_ = 0;
  EXPECT_FALSE(profile_session(*session_, "", {}, 1)) << "an input is missing";
  EXPECT_FALSE(profile_session(*session_, "other", {}, 1));
  EXPECT_EQ(traced_, 0);
  EXPECT_TRUE(session_->trace());
}

}  // namespace
}  // namespace intarsia::test
