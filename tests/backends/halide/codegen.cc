// Code generation in worker processes: the messages, the limits, and what replaces code that is given up.
//
// Covers: backends/halide/emit/ codegen_pool.cc codegen_worker.cc emit_objects.cc kernel_costs.cc
// kernel_message.cc message_stream.cc
#include <gtest/gtest.h>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/emit/kernel_costs.h"
#include "backends/halide/tune/choose_schedules.h"
#include "tests/backends/halide/cases.h"
#include "tests/support/halide_support.h"
#include "tests/support/test_folder.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

/// Makes the calls of a graph's kernels, with schedules, as compile_region does.
Result<std::vector<halide::Call>> make_calls(const std::string& text, const CompileOptions& options) {
  const Graph region = TRY(make_graph("graph \"case\" opsets {\"\": 18}\n" + text));
  const Graph graph = TRY(halide::canonicalize(region));
  const halide::Layouts layouts = halide::choose_layouts(graph);
  std::vector<halide::Call> calls =
      halide::make_kernels(layouts, halide::fuse(layouts), TRY(halide::make_isa("native")), options.threads);
  TRY(halide::choose_schedules(calls, test_emitter(), {}, options));
  return calls;
}

constexpr const char* convolution = R"(
input %x : f32[1,12,12,16]
input %w : f32[16,16,3,3]
%t = Transpose(%x) {perm=[0,3,1,2]}
%y = Conv(%t, %w) {pads=[1,1,1,1]}
%r = Relu(%y)
%o = Transpose(%r) {perm=[0,2,3,1]}
output %o)";

TEST(HalideCodegen, KernelsSurviveTheTripToAWorker) {
  for (const Case& one : cases) {
    const auto calls = make_calls(one.text, {2});
    ASSERT_TRUE(calls) << one.name << ": " << calls.error().message;
    for (const halide::Call& call : *calls) {
      const auto there = halide::decode_request(halide::encode_request({call.kernel, true, 0.5}));
      ASSERT_TRUE(there) << there.error().message;
      EXPECT_EQ(there->kernel.text(), call.kernel.text()) << one.name;
      EXPECT_EQ(there->kernel.details, call.kernel.details) << one.name;
      EXPECT_EQ(std::tuple(there->checks, there->cpu_seconds), std::tuple(true, 0.5));
    }
  }
}

/// Checks that a kernel that cannot work in place gets the code of the kernel out of place, byte for byte.
TEST(HalideCodegen, CodeThatWritesTwiceIsOutOfPlace) {
  const auto relu = [](int64_t size) {
    return fmt::format("input %x : f32[{}]\n%y = Relu(%x)\noutput %y", size);
  };
  const auto softmax = [](int64_t axis) {
    return fmt::format("input %x : f32[13,19]\n%y = Softmax(%x) {{axis={}}}\noutput %y", axis);
  };
  const std::tuple<std::string, bool> regions[] = {
      {relu(32), true}, {relu(33), false}, {softmax(0), false}, {softmax(1), true}};
  for (const auto& [text, is_possible] : regions) {
    const auto calls = make_calls(text, {1});
    ASSERT_TRUE(calls) << calls.error().message;
    const halide::Kernel& plain = calls->front().kernel;
    halide::Kernel in_place = plain;
    in_place.in_place = 0;
    halide::Emitter first, second;
    const halide::Kernel *wanted = &in_place, *other = &plain;
    const auto got = first.emit(std::span(&wanted, 1), {}, {1}),
               out_of_place = second.emit(std::span(&other, 1), {}, {1});
    ASSERT_TRUE(got && out_of_place) << text;
    const halide::EmittedKernel &a = (*got)[0]->kernel, &b = (*out_of_place)[0]->kernel;
    EXPECT_EQ(a.in_place, is_possible) << text;
    EXPECT_EQ(a.symbol == b.symbol, !is_possible) << text;
    EXPECT_EQ(a.object_file == b.object_file, !is_possible) << text;
    EXPECT_FALSE(b.in_place);
  }
}

TEST(HalideCodegen, WhatWasGivenUpBeforeIsNotTriedAgain) {
  CostTable costs("");
  Tuner tuner = random_tuner(costs, 1);
  CodegenReport report;
  CompileOptions options;
  options.tuner = &tuner;
  options.codegen = &report;
  auto calls = make_calls(convolution, options);
  ASSERT_TRUE(calls) << calls.error().message;
  halide::Call& call = calls->front();
  ASSERT_FALSE(call.alternatives.empty());
  const std::pair<CostKey, Cost> given_up(halide::cost_key(call.kernel, options), Cost{});
  costs.add(std::span(&given_up, 1));
  const std::string second = call.alternatives[0].text();
  halide::Emitter fresh;
  const auto emitted = halide::emit_objects(*calls, fresh, {}, options);
  ASSERT_TRUE(emitted) << emitted.error().message;
  EXPECT_EQ(call.kernel.text(), second);
  // The next compile starts with it.
  const auto again = make_calls(convolution, options);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->front().kernel.text(), second);
}

TEST(HalideCodegen, TheLastAlternativeIsPlainCodeInOneThread) {
  const auto calls = make_calls(convolution, {2});
  ASSERT_TRUE(calls) << calls.error().message;
  ASSERT_FALSE(calls->front().alternatives.empty());
  const halide::Kernel& plain = calls->front().alternatives.back();
  EXPECT_EQ(plain.isa.level, "x86-64-v2");
  EXPECT_EQ(plain.threads, 1);
}

TEST(HalideCodegen, DamagedRepliesAreErrors) {
  halide::EmittedKernel kernel;
  kernel.symbol = "symbol", kernel.object_file = "object";
  const std::string reply = halide::encode_reply(kernel);
  ASSERT_TRUE(halide::decode_reply(reply));
  for (size_t size = 0; size < reply.size(); ++size) {
    const halide::CodegenReply part = halide::decode_reply(reply.substr(0, size));
    EXPECT_TRUE(!part || part->object_file == "object") << size;  // the last bytes may be padding
    EXPECT_FALSE(part && size < reply.size() / 2) << size;
  }
  EXPECT_EQ(halide::decode_reply(halide::encode_reply(fail("why"))).error().message, "why");
}

TEST(HalideCodegen, CodeOfAnEarlierCompileIsReused) {
  const test::TestFolder folder;
  CodeCache cache(folder.path().string());
  const auto emit_with = [&](CodegenReport& report) -> Result<std::vector<halide::EmittedKernel>> {
    CompileOptions options{1};
    options.codegen = &report;
    options.code_cache = &cache;
    auto calls = TRY(make_calls(convolution, options));
    halide::Emitter fresh;
    return halide::emit_objects(calls, fresh, {}, options);
  };
  CodegenReport first, second;
  const auto made = emit_with(first), reused = emit_with(second);
  ASSERT_TRUE(made && reused);
  EXPECT_GT(first.kernels, 0);
  EXPECT_EQ(std::tuple(first.reused, second.kernels, second.reused), std::tuple(0, 0, first.kernels));
  ASSERT_EQ(made->size(), reused->size());
  for (size_t i = 0; i < made->size(); ++i) {
    const halide::EmittedKernel &a = (*made)[i], &b = (*reused)[i];
    EXPECT_TRUE(a.object_file == b.object_file);
    EXPECT_EQ(
        std::tuple(a.symbol, a.scratch_bytes, a.scratch_bound, a.in_place, a.output.shape, a.output.strides),
        std::tuple(b.symbol, b.scratch_bytes, b.scratch_bound, b.in_place, b.output.shape, b.output.strides));
  }
}

/// Checks bounds of what kernels keep: nothing, a vector, a column of a vector's width.
TEST(HalideCodegen, ScratchIsBoundedByOpenSizes) {
  const auto scratch_of = [](const std::string& operation) {
    std::vector<halide::Call> calls =
        *make_calls("input %x : f32[n,5]\n%y = " + operation + "\noutput %y", {1});
    halide::Emitter fresh;
    return halide::emit_objects(calls, fresh, {}, {1})->back().scratch_bound;
  };
  EXPECT_EQ(scratch_of("Relu(%x)"), Dim(0));
  EXPECT_TRUE(scratch_of("ReduceMax(%x) {axes=[0]}").is_number());
  const Dim of_column = scratch_of("Softmax(%x) {axis=0}");
  EXPECT_EQ(of_column.symbols(), std::set<std::string>{"s0"}) << of_column.print();
  EXPECT_GT(of_column.substitute({{"s0", 1000}}).number(), 1000 * static_cast<int64_t>(sizeof(float)));
}

/// Checks the timeout: no code is generated in a ten-thousandth of a second, not even in six.
TEST(HalideCodegen, TimeIsLimited) {
  CodegenReport report;
  CompileOptions options{1};
  options.codegen = &report;
  auto calls = make_calls(convolution, options);
  ASSERT_TRUE(calls) << calls.error().message;
  const size_t ways = calls->front().alternatives.size() + 1;
  halide::Emitter fresh;
  const auto emitted = halide::emit_objects(*calls, fresh, {false, 1e-4}, options);
  ASSERT_FALSE(emitted);
  EXPECT_NE(emitted.error().message.find("took too long"), std::string::npos) << emitted.error().message;
  EXPECT_GE(report.given_up.size(), ways);
}

TEST(HalideCodegen, CancellingEndsIt) {
  CompileOptions options{1};
  auto calls = make_calls(convolution, options);
  ASSERT_TRUE(calls) << calls.error().message;
  options.is_cancelled = [] { return true; };
  halide::Emitter fresh;
  const auto emitted = halide::emit_objects(*calls, fresh, {}, options);
  ASSERT_FALSE(emitted);
  EXPECT_EQ(emitted.error().message, "interrupted");
}

/// Checks a caller's tensors with non-contiguous channels: no vector is assembled from single elements for
/// every tap, which would give code that takes minutes to optimize.
TEST(HalideCodegen, NonContiguousChannelsAreCopied) {
  for (int64_t group : {1, 64}) {
    const auto graph = make_graph(fmt::format(R"(graph "apart" opsets {{"": 18}}
input %x : f32[1,64,64,64]
input %w : f32[64,{},3,3]
%y = Conv(%x, %w) {{pads=[1,1,1,1], group={}}}
output %y)",
                                              64 / group, group));
    ASSERT_TRUE(graph) << graph.error().message;
    CodegenReport report;
    CompileOptions options{2};
    options.codegen = &report;
    const auto region = LoadedRegion::make(*graph, options, {});
    ASSERT_TRUE(region) << region.error().message;
    EXPECT_EQ(report.given_up, std::vector<std::string>());
    EXPECT_EQ((*region)->kernels(), 3);
    const Tensor x = random_tensor(DType::f32, {1, 64, 64, 64}, 1);
    test::TestTeam pool(2);
    const auto got = (*region)->run({x}, &pool), want = run_reference(*graph, {x});
    ASSERT_TRUE(got && want);
    EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view(), 1e-3, 1e-4), "");
  }
}

}  // namespace
}  // namespace intarsia::test
