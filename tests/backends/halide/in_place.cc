// Kernels that write over an input: random nets with residuals at the end of every form of kernel give the
// reference's results, and the verifier refuses plans in which a kernel would read overwritten values.
//
// Covers: backends/halide/memory/ choose_in_place.cc lifetimes.cc plan_memory.cc verify_memory.cc
// backends/halide/build/ writes_once.cc
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/memory/choose_in_place.h"
#include "backends/halide/memory/verify_memory.h"
#include "backends/halide/tune/choose_schedules.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

size_t count_in(const std::string& text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

/// Net of blocks, each of which reads the previous block's result %r for the last time where it computes its
/// own.
class RandomNet {
 public:
  explicit RandomNet(uint32_t seed) : random_(seed) {
    constexpr int channels[] = {1, 3, 7, 8, 16, 24, 31, 32, 48}, sizes[] = {1, 2, 5, 8, 13, 14, 16, 28, 29};
    channels_ = channels[random_() % std::size(channels)];
    height_ = sizes[random_() % std::size(sizes)];
    width_ = random_() % 2 ? height_ : sizes[random_() % std::size(sizes)];
    batch_ = 1 + static_cast<int>(random_() % 2);
    inputs_ = fmt::format("input %x : f32[{},{},{},{}]\n", batch_, channels_, height_, width_);
    conv("r0", "x", 1);
    for (int i = 0; i < 3; ++i) block();
    conv("last", r(), 3);
  }

  std::string text() const {
    return fmt::format("graph \"net\" opsets {{\"\": 18}}\n{}{}output %last", inputs_, nodes_);
  }

 private:
  std::string r() const { return fmt::format("r{}", blocks_); }

  std::string weight(const std::string& shape) {
    const std::string name = fmt::format("w_small{}", weights_++);
    inputs_ += fmt::format("input %{} : f32[{}]\n", name, shape);
    return name;
  }

  void node(const std::string& text) { nodes_ += text + "\n"; }

  void conv(const std::string& to, const std::string& from, int taps, bool depthwise = false) {
    const std::string w =
        weight(fmt::format("{},{},{},{}", channels_, depthwise ? 1 : channels_, taps, taps));
    node(fmt::format("%{} = Conv(%{}, %{}) {{pads=[{},{},{},{}], group={}}}", to, from, w, taps / 2, taps / 2,
                     taps / 2, taps / 2, depthwise ? channels_ : 1));
  }

  void block() {
    const std::string from = r(), id = std::to_string(++blocks_), to = r();
    switch (random_() % 9) {
      case 0:  // a residual after a direct convolution, after one that may be Winograd's, after a
               // depthwise one
      case 1:
      case 2:
        conv("h" + id, from, 3);
        conv("y" + id, "h" + id, random_() % 2 ? 3 : 1, random_() % 3 == 0);
        node(fmt::format("%s{0} = Add(%y{0}, %{1})\n%{2} = Relu(%s{0})", id, from, to));
        break;
      case 3:  // after a window
        conv("h" + id, from, 1);
        node(fmt::format(
            "%y{0} = MaxPool(%h{0}) {{kernel_shape=[3,3], pads=[1,1,1,1]}}\n%{2} = Sub(%{1}, %y{0})", id,
            from, to));
        break;
      case 4:  // elementwise, after a kernel that reads all of it
        node(fmt::format("%m{0} = GlobalAveragePool(%{1})\n%g{0} = Sigmoid(%m{0})\n%{2} = Mul(%{1}, %g{0})",
                         id, from, to));
        break;
      case 5:  // a reduction, along the innermost axis in memory or another one
        node(fmt::format("%{} = Softmax(%{}) {{axis={}}}", to, from, 1 + random_() % 3));
        break;
      case 6:  // a reduction with a residual
        conv("h" + id, from, 3);
        node(fmt::format(
            "%m{0} = ReduceMean(%h{0}) {{axes=[1]}}\n%d{0} = Sub(%h{0}, %m{0})\n%{2} = Add(%d{0}, %{1})", id,
            from, to));
        break;
      case 7:  // never in place: the convolution reads it at other positions
        conv("y" + id, from, 3);
        node(fmt::format("%{} = Add(%y{}, %{})", to, id, from));
        break;
      default:  // never in place if the sizes or the order differ
        conv("h" + id, from, 1);
        node(fmt::format("%t{0} = Transpose(%{1}) {{perm=[0,1,3,2]}}\n%m{0} = ReduceMax(%t{0}) {{axes=[2]}}",
                         id, from));
        conv("y" + id, "h" + id, 1);
        node(fmt::format("%s{0} = Add(%y{0}, %{1})", id, height_ == width_ ? "t" + id : from));
        node(fmt::format("%{} = Add(%s{}, %{})", to, id, from));
    }
  }

  std::mt19937 random_;
  int batch_, channels_, height_, width_, blocks_ = 0, weights_ = 0;
  std::string inputs_, nodes_;
};

TEST(HalideInPlace, RandomNetsAgreeWithReference) {
  size_t in_place = 0, kernels = 0;
  const auto count = [&](std::string_view step, const std::string& text) {
    if (step == "emit_objects") in_place += count_in(text, "in place of"), kernels += count_in(text, "form ");
  };
  for (uint32_t seed = 0; seed < 10 * rounds(); ++seed) {
    const std::string text = RandomNet(seed).text();
    Result<Graph> graph = make_graph(text);
    ASSERT_TRUE(graph) << graph.error().message << text;
    const std::vector<Tensor> inputs{
        random_tensor(DType::f32, *graph->value(graph->inputs[0]).type.fixed_shape(), seed)};
    auto want = run_reference(*graph, inputs);
    ASSERT_TRUE(want) << want.error().message;
    CostTable costs("");
    Tuner tuner = random_tuner(costs, seed);
    for (int number = 1; number <= 2; ++number) {
      test::TestTeam threads(number);
      CompileOptions compile{number, seed % 3 == 0 ? "x86-64-v3" : "native"};
      if (seed % 2 == 0) compile.tuner = &tuner;
      compile.print_step = count;
      auto loaded = LoadedRegion::make(*graph, compile, {});
      ASSERT_TRUE(loaded) << loaded.error().message << text;
      auto got = (*loaded)->run(inputs, &threads);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view()), "")
          << number << " threads, seed " << seed << "\n"
          << text;
    }
  }
  EXPECT_GT(in_place, 12u);
  EXPECT_LT(in_place, kernels / 2);
}

/// Indices of the calls of plan_residual, by their outputs.
enum Made : size_t { r, h, s, o };

struct Planned {
  halide::Layouts layouts;
  std::vector<halide::Call> calls;
  halide::MemoryPlan plan() const { return halide::plan_memory(layouts, calls); }
  Status verify(const halide::MemoryPlan& plan) const { return halide::verify_memory(layouts, calls, plan); }
  std::optional<size_t>& in_place(Made call) { return calls[call].kernel.in_place; }
  /// Returns the number of the input of `call` that is the value.
  size_t input(Made call, Made value) const {
    const std::vector<ValueId>& inputs = calls[call].inputs;
    return static_cast<size_t>(std::ranges::find(inputs, calls[value].output) - inputs.begin());
  }
};

/// Plans a graph where %r and %h are read for the last time where %s is computed; the convolution reads %h
/// at other positions.
Planned plan_residual(int width) {
  const std::string text = fmt::format(R"(graph "residual" opsets {{"": 18}}
input %x : f32[1,4,{},16]
input %w1 : f32[16,16,1,1]
input %w3 : f32[16,16,3,3]
%t = Transpose(%x) {{perm=[0,3,1,2]}}
%r = Conv(%t, %w1)
%h = Conv(%r, %w1)
%y = Conv(%h, %w3) {{pads=[1,1,1,1]}}
%s = Add(%y, %r)
%c = Conv(%s, %w1)
%o = Transpose(%c) {{perm=[0,2,3,1]}}
output %o)",
                                       width);
  const auto graph = halide::canonicalize(*make_graph(text));
  Planned planned{halide::choose_layouts(*graph), {}};
  planned.calls =
      halide::make_kernels(planned.layouts, halide::fuse(planned.layouts), *halide::make_isa("x86-64-v3"), 1);
  CompileOptions direct{1, "x86-64-v3"};
  direct.exact_math = true;
  EXPECT_TRUE(halide::choose_schedules(planned.calls, test_emitter(), {}, direct));
  halide::choose_in_place(planned.layouts, planned.calls);
  EXPECT_TRUE(halide::emit_objects(planned.calls, test_emitter(), {}, direct));
  return planned;
}

void expect_refused(const Status& status, const std::string& why) {
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(why), std::string::npos) << status.error().message;
}

TEST(HalideInPlace, ResidualSharesMemory) {
  Planned planned = plan_residual(16);
  EXPECT_EQ(planned.in_place(s), planned.input(s, r));
  const halide::MemoryPlan shared = planned.plan();
  EXPECT_TRUE(planned.verify(shared));
  planned.in_place(s).reset();
  EXPECT_LT(shared.workspace_bytes, planned.plan().workspace_bytes);
}

/// Checks that tiles that do not divide the width rule it out: the last one would add the residual twice.
TEST(HalideInPlace, NotWhereTilesOverlap) { EXPECT_EQ(plan_residual(17).in_place(s), std::nullopt); }

TEST(HalideInPlace, VerifierRefuses) {
  const Planned planned = plan_residual(16);
  const halide::MemoryPlan shared = planned.plan();

  Planned unaware = planned;
  unaware.in_place(s).reset();
  expect_refused(unaware.verify(shared), "while it reads it");
  expect_refused(planned.verify(unaware.plan()), "kernel 2 cannot write");

  Planned neighbors = planned;
  neighbors.in_place(s) = planned.input(s, h);
  expect_refused(neighbors.verify(neighbors.plan()), "kernel 2 cannot write");

  // Makes the last kernel read %r.
  Planned late = planned;
  late.calls[o].inputs[planned.input(o, s)] = planned.calls[r].output;
  expect_refused(late.verify(shared), "kernel 3 reads");
}

}  // namespace
}  // namespace intarsia::test
