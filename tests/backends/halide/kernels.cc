// Kernels of the halide backend, of every kind, against the reference kernels, with sizes that nothing
// divides evenly, between guard pages: all as in programs; half of them for a lower CPU, with threads; the
// others with variants chosen at random, with Halide's asserts and bounds checks. More rounds do both for
// all, with more variants.
//
// Covers: backends/halide/ compile_region.cc target.cc
// backends/halide/build/ build_attention.cc build_contraction.cc build_depthwise.cc build_elementwise.cc
// build_grid_sample.cc build_routine.cc build_scatter.cc build_kernel.cc build_movement.cc build_pointwise.cc
// build_recurrence.cc build_reduction.cc build_scan.cc build_window.cc build_winograd.cc check_abi.cc
// compile_kernel.cc load_from_output.cc math.cc name_tasks.cc schedule_contraction.cc scratch_bytes.cc
// stage_input.cc writes_once.cc backends/halide/canonicalize/ canonicalize.cc canonicalize_contraction.cc
// canonicalize_einsum.cc canonicalize_elementwise.cc canonicalize_random.cc canonicalize_sampling.cc
// canonicalize_scatter.cc canonicalize_indexing.cc canonicalize_movement.cc canonicalize_recurrent.cc
// canonicalize_resize.cc canonicalize_reduction.cc canonicalize_window.cc hoist_strides.cc
// recurrent_weights.cc rewriter.cc simplify.cc backends/halide/core/ core_ops.cc permute_tensor.cc
// backends/halide/fuse/ fuse.cc match_attention.cc backends/halide/layout/ choose_layouts.cc
// backends/halide/routines/ random.cc regions.cc top_k.cc unpool.cc backends/halide/schedule/
// attention_schedule.cc coalesce.cc contraction_schedule.cc contraction_tile.cc isa.cc kernel.cc
// recurrence.cc winograd.cc backends/halide/tune/ choose_schedules.cc tune_kernels.cc
// backends/halide/memory/ pack_weights.cc plan_memory.cc verify_memory.cc backends/halide/emit/
// emit_objects.cc encode_plan.cc glue_object.cc backends/halide/runtime/ load.cc region_executable.cc
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/memory/verify_memory.h"
#include "backends/halide/runtime/load.h"
#include "backends/halide/target.h"
#include "backends/halide/tune/choose_schedules.h"
#include "tests/backends/halide/cases.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

class HalideKernels : public testing::TestWithParam<Case> {};

void expect_equal(const Result<std::vector<Tensor>>& got, const std::vector<Tensor>& want, const char* how) {
  ASSERT_TRUE(got) << how << ": " << got.error().message;
  ASSERT_EQ(got->size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(compare((*got)[i].view(), want[i].view()), "") << how << ", output " << i;
}

TEST_P(HalideKernels, AgreesWithReference) {
  Result<Graph> graph = make_graph(std::string("graph \"case\" opsets {\"\": 18}\n") + GetParam().text);
  ASSERT_TRUE(graph) << graph.error().message;
  auto target = halide::make_target();
  for (size_t n = 0; n < graph->nodes.size(); ++n)
    EXPECT_EQ(target->supports(*graph, NodeId(n), {}).because, "");
  const std::vector<Tensor> inputs = random_inputs(*graph);
  auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;

  const auto expect_right = [&](CompileOptions options, const halide::EmitOptions& emit, const char* how) {
    SCOPED_TRACE(how);
    const auto loaded = LoadedRegion::make(*graph, options, emit);
    ASSERT_TRUE(loaded) << loaded.error().message;
    expect_equal((*loaded)->run_guarded(inputs, true), *want, "guard page after");
    expect_equal((*loaded)->run_guarded(inputs, false), *want, "guard page before");
    if (options.threads == 1) return;
    test::TestTeam threads(options.threads);
    expect_equal((*loaded)->run(inputs, &threads), *want, "threads");
  };
  expect_right({1, "native", {}}, {}, "as in programs");
  const int form = form_of(GetParam().name);
  if (form == 0 || rounds() > 1) expect_right({2, "x86-64-v3", {}}, {}, "of a lower level, for two threads");
  if (form == 0 && rounds() == 1) return;

  // Fake times choose variants at random, also those that the formula would not choose.
  halide::EmitOptions checked;
  checked.checks = true;
  for (uint32_t seed = 0; seed < rounds(); ++seed) {
    CostTable costs("");
    Tuner tuner = random_tuner(costs, seed);
    CompileOptions tuned{1 + static_cast<int>(form + seed) % 2, "native"};
    tuned.tuner = &tuner;
    expect_right(tuned, seed % 2 == 0 ? checked : halide::EmitOptions{}, "variants");
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HalideKernels, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(ProcessorCases, HalideKernels, testing::ValuesIn(processor_cases),
                         [](const auto& info) { return std::string(info.param.name); });

/// Checks that the scores of an attention are in no tensor if nothing else reads them.
TEST(HalideAttention, IsOneKernelWhereNothingElseReadsItsScores) {
  const struct {
    const char* output;
    int kernels;
  } outputs[] = {{"%y", 1}, {"%p", 3}, {"%t", 3}};
  for (const auto& [output, kernels] : outputs) {
    Result<Graph> graph =
        make_graph(fmt::format(R"(graph "attention" opsets {{"": 18}}
input %q : f32[2,9,8]
input %k : f32[2,8,17]
input %v : f32[2,17,5]
input %m : f32[9,17]
input %b : bool[2,1,17]
const %no : f32[] = {{-10000}}
%s = MatMul(%q, %k)
%t = Add(%m, %s)
%u = Where(%b, %t, %no)
%p = Softmax(%u)
%y = MatMul(%p, %v)
output %y
{})",
                               output == std::string("%y") ? "" : fmt::format("output {}", output)));
    ASSERT_TRUE(graph) << graph.error().message;
    auto region = halide::compile_region(*graph, test_emitter(), {1, "native", {}}, {});
    ASSERT_TRUE(region) << region.error().message;
    EXPECT_EQ(region->kernels, kernels) << output;
  }
}

/// Checks that many kernels that differ only in numbers become one; exponents and a few numbers stay in the
/// code.
TEST(HalideKernelsShared, ManyNumbersAreRead) {
  struct Case {
    const char* op;
    int nodes, kernels;
  };
  for (const auto& [op, nodes, kernels] : {Case{"Mul", 30, 1}, Case{"Mul", 3, 3}, Case{"Pow", 8, 8}}) {
    std::string text = "graph \"fan\" opsets {\"\": 18}\ninput %x : f32[4,8]\n", outputs;
    for (int i = 0; i < nodes; ++i) {
      text +=
          fmt::format("const %c{0} : f32[1,1] = {{{1}}}\n%y{0} = {2}(%x, %c{0})\n", i, 1.25 + 0.5 * i, op);
      outputs += fmt::format("output %y{}\n", i);
    }
    Result<Graph> graph = make_graph(text + outputs);
    ASSERT_TRUE(graph) << graph.error().message;
    auto region = LoadedRegion::make(*graph, {1, "native", {}}, {});
    ASSERT_TRUE(region) << region.error().message;
    EXPECT_EQ((*region)->kernels(), kernels) << op << nodes;
    Tensor x = random_tensor(DType::f32, {4, 8}, 1);
    for (float& element : x.as<float>()) element = std::fabs(element);
    const auto got = (*region)->run({x}, nullptr), want = run_reference(*graph, {x});
    ASSERT_TRUE(got && want);
    for (int i = 0; i < nodes; ++i) EXPECT_EQ(compare((*got)[i].view(), (*want)[i].view()), "") << op << i;
  }
}

/// Checks that weights of equal sizes and unlike types are timed together; the tuner sees the batch as a
/// session would load it.
TEST(HalideTuning, WeightsOfUnlikeTypesAreApart) {
  for (const char* text : {"f32 f64", "f64 f32"}) {
    const std::string first(text, 3), second(text + 4);
    const Result<Graph> graph = make_graph(fmt::format(R"(graph "types" opsets {{"": 18}}
input %x : {0}[4,24]
input %y : {1}[4,24]
input %w : {0}[24,16]
input %w_other : {1}[24,16]
%p = MatMul(%x, %w)
%q = MatMul(%y, %w_other)
output %p
output %q)",
                                                       first, second));
    ASSERT_TRUE(graph) << graph.error().message;
    CostTable costs("");
    Tuner tuner = random_tuner(costs, 1);
    std::vector<size_t> bytes;
    tuner.time_kernels = [&, load = tuner.time_kernels](const KernelBatch& batch, const std::string& device,
                                                        int threads) {
      for (const Tensor& constant : batch.region.constants) bytes.push_back(constant.bytes());
      return load(batch, device, threads);
    };
    CompileOptions options{1, "native", {}};
    options.tuner = &tuner;
    const auto region = halide::compile_region(*graph, test_emitter(), options, {});
    ASSERT_TRUE(region) << region.error().message;
    EXPECT_EQ(std::ranges::count(bytes, size_t{24 * 16 * 4}) > 0, true) << text;
    EXPECT_EQ(std::ranges::count(bytes, size_t{24 * 16 * 8}) > 0, true) << text;
  }
}

TEST(HalideRegion, CountsKernelsWithAndWithoutTheGlue) {
  const Result<Graph> graph =
      make_graph("graph \"case\" opsets {\"\": 18}\ninput %x : f32[4]\n%y = Relu(%x)\noutput %y\n");
  ASSERT_TRUE(graph) << graph.error().message;
  for (bool checks : {false, true}) {
    halide::EmitOptions options;
    options.checks = checks;
    const auto compiled = halide::compile_region(*graph, test_emitter(), {1, "native"}, options);
    ASSERT_TRUE(compiled) << compiled.error().message;
    EXPECT_EQ(compiled->kernels, 1);
  }
}

/// Checks that the verifier finds two live values that share bytes, and a read of a value that was
/// overwritten.
TEST(HalideMemory, VerifierFindsWrongPlans) {
  Result<Graph> region = make_graph(R"(graph "two" opsets {"": 18}
input %x : f32[64]
const %axis : i64[] = {0}
%a = CumSum(%x, %axis)
%b = CumSum(%a, %axis)
%c = CumSum(%b, %axis)
%d = Add(%a, %c)
output %d)");
  ASSERT_TRUE(region) << region.error().message;
  const auto isa = halide::make_isa("native");
  auto graph = halide::canonicalize(*region);
  ASSERT_TRUE(graph) << graph.error().message;
  const halide::Layouts layouts = halide::choose_layouts(*graph);
  std::vector<halide::Call> calls = halide::make_kernels(layouts, halide::fuse(layouts), *isa, 1);
  ASSERT_TRUE(halide::choose_schedules(calls, test_emitter(), {}, {}));
  const halide::MemoryPlan plan = halide::plan_memory(layouts, calls);
  EXPECT_TRUE(halide::verify_memory(layouts, calls, plan));
  int wrong = 0;
  for (size_t c = 0; c + 1 < calls.size(); ++c) {
    halide::MemoryPlan moved = plan;
    // Later values get the place of the first one.
    for (size_t later = c; later < calls.size(); ++later)
      for (halide::Place& place : moved.places[later])
        if (place.where == halide::Where::workspace) place.offset = 0;
    wrong += !halide::verify_memory(layouts, calls, moved);
  }
  EXPECT_EQ(wrong, static_cast<int>(calls.size()) - 1);
  halide::MemoryPlan small = plan;
  small.workspace_bytes = 64;
  EXPECT_FALSE(halide::verify_memory(layouts, calls, small));
}

constexpr const char* recurrent_text = R"(graph "steps" opsets {"": 17}
input %x : f32[7,2,3]
input %w : f32[1,20,3]
input %wr : f32[1,20,5]
%y = LSTM(%x, %w, %wr) {hidden_size=5, direction="reverse"}
output %y)";

/// Checks a recurrence with one step more than there is memory for.
TEST(HalideMemory, VerifierFindsRecurrenceThatRunsTooFar) {
  Result<Graph> region = make_graph(recurrent_text);
  ASSERT_TRUE(region) << region.error().message;
  const auto isa = halide::make_isa("native");
  auto graph = halide::canonicalize(*region);
  ASSERT_TRUE(graph) << graph.error().message;
  const halide::Layouts layouts = halide::choose_layouts(*graph);
  std::vector<halide::Call> calls = halide::make_kernels(layouts, halide::fuse(layouts), *isa, 1);
  ASSERT_TRUE(halide::choose_schedules(calls, test_emitter(), {}, {}));
  const halide::MemoryPlan plan = halide::plan_memory(layouts, calls);
  EXPECT_TRUE(halide::verify_memory(layouts, calls, plan));
  const auto repeated = std::ranges::find_if(calls, [](const halide::Call& call) { return call.times != 1; });
  ASSERT_NE(repeated, calls.end());
  EXPECT_EQ(repeated->times, 6);
  repeated->times = 7;
  const Status status = halide::verify_memory(layouts, calls, plan);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("while it is repeated"), std::string::npos) << status.error().message;
}

/// Loads a blob from guarded memory, with kernels that must not be called.
Result<std::unique_ptr<Executable>> load_blob(const std::string& blob, const std::vector<Tensor>& constants,
                                              size_t workspace_bytes) {
  std::shared_ptr<void> memory = guarded_memory(blob.size(), true);
  std::memcpy(memory.get(), blob.data(), blob.size());
  std::vector<ConstTensorView> views;
  for (const Tensor& constant : constants) views.push_back(constant.view());
  LoadContext context;
  context.blob = {static_cast<const std::byte*>(memory.get()), blob.size()};
  context.constants = views;
  context.workspace_bytes = workspace_bytes;
  context.symbol = [](const std::string&) { return reinterpret_cast<void*>(1); };
  return halide::load(context);
}

/// Checks that a buffer may move only within its tensor.
TEST(HalidePlan, StepsThatLeaveTheirTensorAreRefused) {
  Result<Graph> graph = make_graph(recurrent_text);
  ASSERT_TRUE(graph) << graph.error().message;
  auto region = halide::compile_region(*graph, test_emitter(), {1, "native", {}}, {});
  ASSERT_TRUE(region) << region.error().message;
  auto bytes = [](int64_t step) { return std::string(reinterpret_cast<const char*>(&step), sizeof step); };
  constexpr int64_t x_step = -2 * 32 * 4,
                    state_step = -2 * 2 * 8 * 4;  // batch x columns; states x batch x units
  for (int64_t step : {x_step, state_step}) {
    const size_t at = region->blob.find(bytes(step));
    ASSERT_NE(at, std::string::npos);
    for (int64_t wrong : {-1000 * step, 1000 * step, std::numeric_limits<int64_t>::min(),
                          std::numeric_limits<int64_t>::max() / 8 * 8}) {
      std::string damaged = region->blob;
      damaged.replace(at, sizeof step, bytes(wrong));
      auto loaded = load_blob(damaged, region->constants, region->workspace_bytes);
      ASSERT_FALSE(loaded) << wrong;
      EXPECT_NE(loaded.error().message.find("moves out of its tensor"), std::string::npos)
          << loaded.error().message;
    }
  }
}

/// Checks that a plan with damaged bytes loads or is refused; load checks that its offsets never reach
/// outside, and reads nothing past the blob.
TEST(HalidePlan, DamageNeverCrashesLoad) {
  for (const std::string& text :
       {std::string("graph \"case\" opsets {\"\": 18}\n") + cases[0].text, std::string(recurrent_text)}) {
    Result<Graph> graph = make_graph(text);
    ASSERT_TRUE(graph) << graph.error().message;
    auto region = halide::compile_region(*graph, test_emitter(), {1, "native", {}}, {});
    ASSERT_TRUE(region) << region.error().message;
    auto load = [&](const std::string& blob) {
      return load_blob(blob, region->constants, region->workspace_bytes).has_value();
    };
    EXPECT_TRUE(load(region->blob));
    for (size_t i = 0; i < region->blob.size(); ++i) {
      load(region->blob.substr(0, i));
      for (char flip : {'\x01', '\x80', '\xff'}) {
        std::string damaged = region->blob;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        load(damaged);
      }
    }
  }
}

struct Refusal {
  const char* node;
  const char* because;
};

/// Checks that unsupported recurrent steps are refused with a reason that a user can read.
TEST(HalideRecurrent, RefusalsSayWhy) {
  constexpr Refusal refusals[] = {
      {"%y = LSTM(%x, %w, %wr) {hidden_size=5, clip=3.0}", "LSTM with clip"},
      {"%y = LSTM(%x, %w, %wr) {hidden_size=5, input_forget=1}", "LSTM with input_forget"},
      {"%y = LSTM(%x, %w, %wr, _, _, _, _, %wp) {hidden_size=5}", "LSTM with peepholes"},
      {"%y = LSTM(%x, %w, %wr) {hidden_size=5, activations=[\"Sigmoid\",\"Tanh\",\"Relu\"]}",
       "activation Relu in place of Tanh"},
      {"%y = LSTM(%x, %w, %wr, _, %short) {hidden_size=5}", "i64[1] as input 4, want i32[2]"},
      {"%y = LSTM(%x, %w, %r) {hidden_size=5}", "input 2 is not known at compile time"},
      {"%y = LSTM(%x, %wd, %wdr) {hidden_size=5}", "LSTM wants f32 of rank 3 as input 1"},
  };
  for (const Refusal& refusal : refusals) {
    const Result<Graph> graph = make_graph(fmt::format(R"(graph "refused" opsets {{"": 17}}
input %x : f32[7,2,3]
input %r : f32[1,20,5]
input %w : f32[1,20,3]
input %wr : f32[1,20,5]
input %wp : f32[1,15]
input %wd : f64[1,20,3]
input %wdr : f64[1,20,5]
const %short : i64[1] = {{7}}
{}
output %y)",
                                                       refusal.node));
    ASSERT_TRUE(graph) << graph.error().message;
    const std::string because = halide::make_target()->supports(*graph, NodeId(0), {}).because;
    EXPECT_NE(because.find(refusal.because), std::string::npos) << refusal.node << ": " << because;
  }
}

}  // namespace
}  // namespace intarsia::test
