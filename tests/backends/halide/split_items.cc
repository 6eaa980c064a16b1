// Regions over an open number of items: what keeps items apart is computed for each of them and gives what
// the reference does for all at once; what mixes them is refused.
//
// Covers: backends/halide/canonicalize/ split_items.cc
// backends/halide/runtime/ run_items.cc
#include <gtest/gtest.h>

#include <regex>
#include <thread>

#include "backends/halide/canonicalize/split_items.h"
#include "tests/support/halide_support.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

/// Returns the graph with these nodes for a number of items, or for an open one.
Result<Graph> graph_of(const std::string& nodes, const std::string& items) {
  const std::string text = std::regex_replace(nodes, std::regex("items"), items);
  return make_graph("graph \"g\" opsets {\"\": 17}\n" + text + "\noutput %y\n");
}

const char* const apart[] = {
    R"(input %x : f32[items,12]
input %w : f32[12]
%t = Add(%x, %w)
%y = Relu(%t))",
    R"(input %x : f32[items,12]
input %z : f32[items,1]
input %shared : f32[1,12]
%t = Mul(%x, %z)
%y = Sub(%t, %shared))",
    R"(input %x : f32[items,7,12]
input %shared : f32[7,12]
%y = Add(%x, %shared))",
    R"(input %x : f32[items,12]
input %w : f32[12,20]
%y = MatMul(%x, %w))",
    R"(input %q : f32[items,2,5,8]
input %k : f32[items,2,8,6]
%s = MatMul(%q, %k)
%y = Softmax(%s) {axis=-1})",
    R"(input %x : f32[items,7,12]
input %w : f32[12,20]
const %rows : i64[2] = {-1, 12}
const %back : i64[3] = {-1, 7, 20}
%a = Reshape(%x, %rows)
%b = MatMul(%a, %w)
%y = Reshape(%b, %back))",
    R"(input %x : f32[items,3,17,17]
input %w : f32[8,3,3,3]
input %w_small : f32[8,5]
const %flat : i64[2] = {0, -1}
%c = Conv(%x, %w) {strides=[2,2]}
%r = Relu(%c)
%p = MaxPool(%r) {kernel_shape=[2,2], strides=[2,2]}
%g = GlobalAveragePool(%p)
%f = Reshape(%g, %flat)
%y = MatMul(%f, %w_small))",
    R"(input %i : i64[items,7]
input %w : f32[4,6]
%y = Gather(%w, %i))",
    R"(input %x : f32[items,3,4]
input %i : i64[items,2,4]
%y = GatherElements(%x, %i) {axis=1})",
    R"(input %x : f32[items,3,4]
input %z : f32[items,2,4]
%y = Concat(%x, %z) {axis=1})",
    R"(input %x : f32[items,6,4]
const %starts : i64[2] = {4, 1}
const %ends : i64[2] = {0, 4}
const %axes : i64[2] = {1, 2}
const %steps : i64[2] = {-2, 1}
%y = Slice(%x, %starts, %ends, %axes, %steps))",
    R"(input %x : f32[items,6,4]
const %pads : i64[6] = {0, 1, 2, 0, 0, 1}
%y = Pad(%x, %pads))",
    R"(input %x : f32[items,3,4,5]
%t = Transpose(%x) {perm=[0,3,1,2]}
%y = ReduceMean(%t) {axes=[1,2], keepdims=0})",
    R"(input %x : f32[items,6]
%y = ArgMax(%x) {axis=1})",
    R"(input %x : f32[items,6]
const %axis : i64[] = {1}
%y = CumSum(%x, %axis))",
    R"(input %x : f32[items,2,3,3]
const %roi : f32[0] = {}
const %scales : f32[4] = {1, 1, 2, 2}
%y = Resize(%x, %roi, %scales) {mode="linear"})",
    R"(input %x : f32[items,4,4]
%y = Trilu(%x))",
    R"(input %x : f32[items,9,12]
input %w : f32[12]
input %w_small : f32[12]
%y = LayerNormalization(%x, %w, %w_small))",
};

const char* const mixed[] = {
    R"(input %x : f32[items,4]
const %axes : i64[1] = {0}
%y = ReduceSum(%x, %axes) {keepdims=1})",
    R"(input %x : f32[items,4]
%y = Softmax(%x) {axis=0})",
    R"(input %x : f32[items,4]
input %z : f32[items,4]
%y = Concat(%x, %z) {axis=0})",
    R"(input %x : f32[items,4]
const %starts : i64[1] = {-1}
const %ends : i64[1] = {-9223372036854775807}
const %axes : i64[1] = {0}
const %steps : i64[1] = {-1}
%y = Slice(%x, %starts, %ends, %axes, %steps))",
    R"(input %x : f32[items,4]
const %starts : i64[1] = {1}
const %ends : i64[1] = {2147483647}
const %axes : i64[1] = {0}
%y = Slice(%x, %starts, %ends, %axes))",
    R"(input %x : f32[items,4]
const %starts : i64[1] = {0}
const %ends : i64[1] = {3}
const %axes : i64[1] = {0}
%y = Slice(%x, %starts, %ends, %axes))",
    R"(input %x : f32[items,4]
input %quarter : i64[1]<floor_div(items,4)>
const %ends : i64[1] = {4}
const %axes : i64[1] = {1}
%y = Slice(%x, %quarter, %ends, %axes))",
    R"(input %x : f32[items,4]
%t = Transpose(%x) {perm=[1,0]}
%y = MatMul(%t, %x))",
    R"(input %x : f32[items,4]
%t = Transpose(%x) {perm=[1,0]}
%y = MatMul(%x, %t))",
    R"(input %x : f32[items,4]
input %i : i64[items,4]
%y = GatherElements(%x, %i) {axis=0})",
    R"(input %x : f32[items,4]
input %i : i64[items]
%y = Gather(%x, %i) {axis=0})",
    R"(input %x : f32[items,4]
const %axis : i64[] = {0}
%y = CumSum(%x, %axis))",
    R"(input %x : f32[items,4]
%y = Trilu(%x))",
    R"(input %x : f32[items,4]
const %pads : i64[4] = {1, 0, -1, 0}
%y = Pad(%x, %pads))",
    R"(input %x : f32[items,4]
%y = ArgMax(%x) {axis=0})",
    R"(input %x : f32[5,items,4]
%y = Relu(%x))",
    R"(input %x : f32[items,other]
%y = Relu(%x))",
    R"(input %x : f32[1,4]
input %s : i64[2]<items,4>
%y = Expand(%x, %s))",
    R"(input %x : f32[items,4]
%s = Shape(%x)
%f = Cast(%s) {to=1}
%t = Gather(%f, %s)
%y = Relu(%t))",
};

std::vector<Tensor> random_inputs(const Graph& graph, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (ValueId input : graph.inputs) {
    const ValueType& type = graph.value(input).type;
    inputs.push_back(random_tensor(type.dtype, *type.fixed_shape(), ++seed));
    // Indices are along axes of two elements or more.
    if (type.dtype == DType::i64)
      for (int64_t& index : inputs.back().as<int64_t>()) index %= 2;
  }
  return inputs;
}

/// Runs the region in the calling thread, or in those of a team, with pages that nobody may touch around its
/// memory.
Result<std::vector<Output>> run_items(const LoadedRegion& region, const std::vector<Tensor>& inputs,
                                      ThreadTeam* team = nullptr, const TraceHook* trace = nullptr) {
  std::vector<Input> from;
  for (const Tensor& input : inputs) from.push_back({ConstTensorView(input.view()), nullptr, {}});
  std::vector<Output> to(1);
  to[0].dynamic = true;
  const std::shared_ptr<void> workspace = guarded_memory(region.workspace_bytes(), true);
  RunContext context{.inputs = from, .outputs = to};
  context.workspace = static_cast<std::byte*>(workspace.get());
  context.threads = team;
  context.trace = trace;
  const std::shared_ptr<void> scratch = guarded_memory(region.scratch_bytes(team ? team->size() : 1), true);
  context.scratch = static_cast<std::byte*>(scratch.get());
  TRY(region.run_in(context));
  return to;
}

TEST(SplitItems, EachItemGetsWhatAllGetAtOnce) {
  TestTeam team(3);
  for (const char* const nodes : apart) {
    SCOPED_TRACE(nodes);
    const Result<Graph> open = graph_of(nodes, "items");
    ASSERT_TRUE(open) << open.error().message;
    const Result<halide::ItemRegion> items = halide::split_items(*open);
    ASSERT_TRUE(items) << items.error().message;
    const auto region = LoadedRegion::make(items->item, {}, {.input_moves = &items->input_moves});
    ASSERT_TRUE(region) << region.error().message;
    for (const int64_t count : {1, 2, 5, 10}) {
      const Result<Graph> fixed = graph_of(nodes, std::to_string(count));
      const std::vector<Tensor> inputs = random_inputs(*fixed, 10);
      const std::vector<Tensor> want = run_reference(*fixed, inputs).value();
      for (ThreadTeam* const threads : {static_cast<ThreadTeam*>(nullptr), static_cast<ThreadTeam*>(&team)}) {
        const Result<std::vector<Output>> got = run_items(**region, inputs, threads);
        ASSERT_TRUE(got) << got.error().message;
        ASSERT_EQ((*got)[0].tensor.shape, want[0].shape());
        EXPECT_EQ(compare((*got)[0].tensor, want[0].view()), "") << count << " items";
      }
    }
  }
}

/// Two products in a row: the rows between them lie in the workspace, beside what products keep for
/// themselves.
const char* const with_workspace = R"(input %x : f32[items,300]
input %v : f32[300,300]
input %w : f32[300,20]
%t = MatMul(%x, %v)
%s = Sigmoid(%t)
%y = MatMul(%s, %w))";

TEST(SplitItems, ItemsAtOnceHaveWorkspacesOfTheirOwn) {
  TestTeam team(3);
  const Result<Graph> open = graph_of(with_workspace, "items"), fixed = graph_of(with_workspace, "64");
  const Result<halide::ItemRegion> items = halide::split_items(*open);
  const auto region = LoadedRegion::make(items->item, {}, {.input_moves = &items->input_moves});
  ASSERT_TRUE(region) << region.error().message;
  EXPECT_GE((*region)->scratch_bytes(3), 2 * 300 * sizeof(float));
  const std::vector<Tensor> inputs = random_inputs(*fixed, 10);
  const std::vector<Tensor> want = run_reference(*fixed, inputs).value();
  for (int time = 0; time < 20; ++time) {
    const Result<std::vector<Output>> got = run_items(**region, inputs, &team);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(compare((*got)[0].tensor, want[0].view()), "");
  }
}

/// Planes that are twice as high lie in the workspace, and no kernel keeps anything for itself.
const char* const without_scratch = R"(input %x : f32[items,2,3,3]
const %roi : f32[0] = {}
const %scales : f32[4] = {1, 1, 2, 2}
%y = Resize(%x, %roi, %scales) {mode="linear"})";

TEST(SplitItems, WorkspacesHaveRoomWithoutScratch) {
  const Result<Graph> open = graph_of(without_scratch, "items");
  const Result<halide::ItemRegion> items = halide::split_items(*open);
  const auto region = LoadedRegion::make(items->item, {}, {.input_moves = &items->input_moves});
  ASSERT_TRUE(region) << region.error().message;
  EXPECT_GE((*region)->workspace_bytes(), 2 * 6 * 3 * sizeof(float));
  EXPECT_GE((*region)->scratch_bytes(3), 2 * (*region)->workspace_bytes());
}

TEST(SplitItems, ATraceIsCalledByOneThread) {
  TestTeam team(3);
  const Result<Graph> open = graph_of(with_workspace, "items"), fixed = graph_of(with_workspace, "6");
  const Result<halide::ItemRegion> items = halide::split_items(*open);
  const auto region = LoadedRegion::make(items->item, {}, {.input_moves = &items->input_moves});
  std::vector<std::thread::id> callers;
  const TraceHook trace = [&](std::string_view, int64_t, int64_t) {
    callers.push_back(std::this_thread::get_id());
  };
  ASSERT_TRUE(run_items(**region, random_inputs(*fixed, 10), &team, &trace));
  EXPECT_GE(callers.size(), 6U);
  EXPECT_EQ(callers, std::vector(callers.size(), std::this_thread::get_id()));
}

TEST(SplitItems, AnItemThatFailsIsNamed) {
  TestTeam team(3);
  const char* const nodes = R"(input %x : f32[items,4]
input %i : i64[items,2]
%y = GatherElements(%x, %i) {axis=1})";
  const Result<Graph> open = graph_of(nodes, "items");
  const Result<halide::ItemRegion> items = halide::split_items(*open);
  ASSERT_TRUE(items) << items.error().message;
  const auto region = LoadedRegion::make(items->item, {}, {.input_moves = &items->input_moves});
  Tensor indices(DType::i64, {9, 2});
  indices.as<int64_t>()[14] = 4;
  const auto got = run_items(**region, {Tensor(DType::f32, {9, 4}), indices}, &team);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message,
            "item 7: halide: kernel 0 (y: GatherElements): index 4 of its input 1 is out of range -4 to 3");
}

TEST(SplitItems, NoItemsAreNoWork) {
  const Result<Graph> open = graph_of(apart[3], "items");
  const Result<halide::ItemRegion> items = halide::split_items(*open);
  const auto region = LoadedRegion::make(items->item, {}, {.input_moves = &items->input_moves});
  const Result<std::vector<Output>> got = run_items(**region, {Tensor(DType::f32, {0, 12})});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ((*got)[0].tensor.shape, (Shape{0, 20}));
}

TEST(SplitItems, InputsHaveAsManyItems) {
  const Result<Graph> open = graph_of(apart[1], "items");
  const Result<halide::ItemRegion> items = halide::split_items(*open);
  EXPECT_EQ(items->input_moves, (std::vector<bool>{true, true, false}));
  const auto region = LoadedRegion::make(items->item, {}, {.input_moves = &items->input_moves});
  const auto run = [&](int64_t x, int64_t z) {
    const auto got = run_items(
        **region, {Tensor(DType::f32, {x, 12}), Tensor(DType::f32, {z, 1}), Tensor(DType::f32, {1, 12})});
    return got ? "" : got.error().message;
  };
  EXPECT_EQ(run(3, 3), "");
  EXPECT_EQ(run(3, 2), "halide: input 1 has 8 bytes, where an item has 4 and others have 3 items");
}

TEST(SplitItems, WhatMixesItemsIsRefused) {
  for (const char* const nodes : mixed) {
    SCOPED_TRACE(nodes);
    const Result<Graph> open = graph_of(nodes, "items");
    ASSERT_TRUE(open) << open.error().message;
    EXPECT_FALSE(halide::split_items(*open));
  }
}

}  // namespace
}  // namespace intarsia::test
