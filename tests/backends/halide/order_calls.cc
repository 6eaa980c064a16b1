// Order of calls: none of all orders of small random regions needs less memory, and larger ones compute the
// same. Places of what kernels keep for themselves.
//
// Covers: backends/halide/memory/ order_calls.cc plan_workspace.cc verify_memory.cc
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/canonicalize/simplify.h"
#include "backends/halide/memory/order_calls.h"
#include "backends/halide/memory/plan_memory.h"
#include "backends/halide/memory/plan_workspace.h"
#include "backends/halide/memory/verify_memory.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

struct Drawn {
  halide::Layouts layouts;
  std::vector<halide::Call> calls;

  std::string order() const {
    std::string text;
    for (const halide::Call& call : calls) text += call.source + " ";
    return text;
  }
};

Drawn draw(const std::string& text) {
  Graph graph = *halide::canonicalize(*make_graph("graph \"g\" opsets {\"\": 18}\n" + text));
  halide::simplify(graph);
  Drawn drawn{halide::choose_layouts(graph), {}};
  drawn.calls =
      halide::make_kernels(drawn.layouts, halide::fuse(drawn.layouts), *halide::make_isa("x86-64-v3"), 1);
  return drawn;
}

TEST(OrderCalls, ALargeValueIsReadBeforeTheNextIsMade) {
  Drawn drawn = draw(R"(input %x : f32[8,64]
input %w1 : f32[64,4096]
input %w2 : f32[4096,8]
%a = MatMul(%x, %w1)
%b = MatMul(%x, %w1)
%c = MatMul(%a, %w2)
%d = MatMul(%b, %w2)
%y = MatMul(%c, %d)
output %y)");
  EXPECT_EQ(drawn.order(), "a b c d y ");
  EXPECT_EQ(halide::find_live_peak(drawn.layouts, drawn.calls).bytes, (2 * 8 * 4096 + 8 * 8) * sizeof(float));
  halide::order_calls(drawn.layouts, drawn.calls);
  EXPECT_EQ(drawn.order(), "a c b d y ");
  EXPECT_EQ(halide::find_live_peak(drawn.layouts, drawn.calls).bytes, (8 * 4096 + 2 * 8 * 8) * sizeof(float));
}

TEST(OrderCalls, AnOrderThatCannotBeBetterStays) {
  Drawn drawn = draw(R"(input %x : f32[8,64]
input %w : f32[64,64]
%a = MatMul(%x, %w)
%b = MatMul(%a, %w)
%c = MatMul(%b, %w)
output %c)");
  halide::order_calls(drawn.layouts, drawn.calls);
  EXPECT_EQ(drawn.order(), "a b c ");
}

/// Region of products of random widths, each of one or two values before it.
std::string random_region(uint32_t seed, size_t nodes) {
  std::mt19937 random(seed);
  constexpr int widths[] = {8, 16, 64, 256, 512};
  std::vector<int> made{32};
  std::vector<bool> is_read{true};
  std::string inputs = "input %v0 : f32[8,32]\n", text;
  const auto pick = [&](size_t most) { return made.size() - 1 - random() % std::min(made.size(), most); };
  for (size_t i = 1; i <= nodes; ++i) {
    const size_t one = pick(4), other = pick(6);
    const int width = widths[random() % std::size(widths)];
    is_read[one] = is_read[other] = true;
    inputs +=
        fmt::format("input %w{} : f32[{},{}]\n", i, made[one] + (one == other ? 0 : made[other]), width);
    const std::string from = one == other ? fmt::format("v{}", one) : fmt::format("c{}", i);
    if (one != other) text += fmt::format("%c{} = Concat(%v{}, %v{}) {{axis=1}}\n", i, one, other);
    text += fmt::format("%v{} = MatMul(%{}, %w{})\n", i, from, i);
    made.push_back(width), is_read.push_back(false);
  }
  std::string outputs;
  for (size_t i = 0; i <= nodes; ++i)
    if (!is_read[i]) outputs += fmt::format("output %v{}\n", i);
  return inputs + text + outputs;
}

/// Returns the least peak of all orders in which each call comes after those that write what it reads.
size_t least_peak(const Drawn& drawn) {
  const auto root = [&](ValueId value) { return drawn.layouts.storage[index(value)].root; };
  const auto reads = [&](const halide::Call& call, const halide::Call& other) {
    return std::ranges::any_of(call.inputs, [&](ValueId input) { return root(input) == root(other.output); });
  };
  std::vector<size_t> order(drawn.calls.size());
  std::iota(order.begin(), order.end(), size_t{0});
  size_t least = ~size_t{0};
  do {
    bool is_valid = true;
    for (size_t i = 0; i < order.size(); ++i)
      for (size_t j = i + 1; j < order.size(); ++j)
        is_valid =
            is_valid && (order[i] < order[j] || (!reads(drawn.calls[order[i]], drawn.calls[order[j]]) &&
                                                 !reads(drawn.calls[order[j]], drawn.calls[order[i]])));
    if (!is_valid) continue;
    std::vector<halide::Call> calls;
    for (size_t call : order) calls.push_back(drawn.calls[call]);
    least = std::min(least, halide::find_live_peak(drawn.layouts, calls).bytes);
  } while (std::ranges::next_permutation(order).found);
  return least;
}

TEST(OrderCalls, NoOrderOfASmallRegionNeedsLess) {
  constexpr size_t most_calls = 7;  // of which there are 5040 orders
  int changed = 0, compared = 0;
  for (uint32_t seed = 0; seed < 40 * rounds(); ++seed) {
    const std::string text = random_region(seed, 4);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    Drawn drawn = draw(text);
    if (drawn.calls.size() > most_calls) continue;
    const Drawn original = drawn;
    halide::order_calls(drawn.layouts, drawn.calls);
    changed += drawn.order() != original.order();
    ++compared;
    EXPECT_LE(halide::plan_workspace(drawn.layouts, drawn.calls).bytes,
              halide::plan_workspace(original.layouts, original.calls).bytes);
    EXPECT_EQ(halide::find_live_peak(drawn.layouts, drawn.calls).bytes, least_peak(original));
  }
  EXPECT_GT(compared, 10);
  EXPECT_GT(changed, 0);
}

/// Checks copies that kernels keep, in the ways that plans have places for them.
TEST(PlanWorkspace, ScratchOfItsOwnLiesBesideWhatIsAliveInTheCall) {
  const Drawn drawn = draw(R"(input %x : f32[1,64]
input %w1 : f32[64,1024]
input %w2 : f32[1024,64]
%a = MatMul(%x, %w1)
%b = MatMul(%a, %w2)
%y = MatMul(%b, %w1)
output %y)");
  const auto plan_with = [&](halide::Scratch::Place place) {
    return halide::plan_workspace(drawn.layouts, drawn.calls, {{64, 128, 4096}, 1, place});
  };
  constexpr size_t a = 1024 * 4 + 64, b = 64 * 4 + 64;
  EXPECT_EQ(plan_with(halide::Scratch::Place::apart).bytes, a + b + 4096);
  EXPECT_EQ(plan_with(halide::Scratch::Place::shared).bytes, a + b + 4096);
  const halide::WorkspacePlan own = plan_with(halide::Scratch::Place::own);
  EXPECT_EQ(own.bytes, a + b + 128);
  EXPECT_EQ(own.scratch_offsets.size(), 3);
}

TEST(PlanWorkspace, ScratchNeverMeetsValues) {
  for (uint32_t seed = 0; seed < 40 * rounds(); ++seed) {
    const std::string text = random_region(seed, 12);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    Drawn drawn = draw(text);
    halide::order_calls(drawn.layouts, drawn.calls);
    std::mt19937 random(seed);
    halide::Scratch scratch{{}, 1 + random() % 2};
    for (size_t c = 0; c < drawn.calls.size(); ++c)
      scratch.calls.push_back(random() % 3 * 64 * (random() % 40));
    std::map<halide::Scratch::Place, size_t> bytes;
    for (const auto place :
         {halide::Scratch::Place::apart, halide::Scratch::Place::shared, halide::Scratch::Place::own}) {
      scratch.place = place;
      halide::MemoryPlan plan = halide::plan_memory(drawn.layouts, drawn.calls, scratch);
      EXPECT_TRUE(halide::verify_memory(drawn.layouts, drawn.calls, plan));
      bytes[place] = plan.workspace_bytes;
    }
    EXPECT_LE(bytes[halide::Scratch::Place::own], bytes[halide::Scratch::Place::apart]);
    EXPECT_LE(bytes[halide::Scratch::Place::shared], bytes[halide::Scratch::Place::apart]);
  }
}

TEST(OrderCalls, RandomRegionsComputeTheSame) {
  for (uint32_t seed = 0; seed < 4 * rounds(); ++seed) {
    const std::string text = "graph \"g\" opsets {\"\": 18}\n" + random_region(seed, 24);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    Result<Graph> graph = make_graph(text);
    ASSERT_TRUE(graph) << graph.error().message;
    const std::vector<Tensor> inputs = random_inputs(*graph);
    auto want = run_reference(*graph, inputs);
    auto loaded = LoadedRegion::make(*graph, {1, "native"}, {});
    ASSERT_TRUE(want && loaded) << loaded.error().message;
    auto got = (*loaded)->run(inputs, nullptr);
    ASSERT_TRUE(got) << got.error().message;
    for (size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(compare((*got)[i].view(), (*want)[i].view(), 1e-2, 1e-3), "");
  }
}

}  // namespace
}  // namespace intarsia::test
