// Kernels whose sizes are known when they run, of every kind that has them, against the reference kernels:
// with sizes of nothing, of one, of tiles and vectors and one off, between guard pages.
//
// Covers: backends/halide/build/ build_attention.cc build_contraction.cc build_depthwise.cc build_kernel.cc
// build_movement.cc build_pointwise.cc build_recurrence.cc build_reduction.cc build_resize.cc build_scan.cc
// build_window.cc schedule_contraction.cc stage_input.cc
// backends/halide/canonicalize/ canonicalize.cc canonicalize_contraction.cc canonicalize_movement.cc
// canonicalize_recurrent.cc canonicalize_resize.cc canonicalize_window.cc rewriter.cc
// backends/halide/core/ core_attributes.cc size_texts.cc
// backends/halide/emit/ encode_open_plan.cc kernel_message.cc
// backends/halide/memory/ plan_memory.cc verify_memory.cc
// backends/halide/runtime/ load_open_region.cc open_region.cc
// backends/halide/schedule/ index_checks.cc kernel.cc kernel_name.cc recurrence.cc
// backends/halide/tune/ choose_schedules.cc
#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "tests/backends/halide/cases.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

/// Graphs over sizes r and c. Inputs that start with "w" are random constants.
constexpr Case open_cases[] = {
    {"Elementwise", R"(input %x : f32[r,c]
input %row : f32[1,c]
input %w : f32[1]
%a = Add(%x, %row)
%b = Mul(%a, %w)
%y = Sigmoid(%b))"},
    {"BroadcastInside", R"(input %x : f32[r,5,c]
input %row : f32[r,1,c]
input %b : bool[5,1]
%a = Sub(%x, %row)
%y = Where(%b, %a, %x))"},
    {"Bytes", R"(input %x : bool[r,c]
input %z : bool[c]
%a = And(%x, %z)
%y = Not(%a))"},
    {"Transpose", R"(input %x : f32[r,3,c]
%t = Transpose(%x) {perm=[2,0,1]}
%y = Relu(%t))"},
    {"ReshapeThatMoves", R"(input %x : f32[r,4,c]
const %s : i64[3] = {-1, 0, 2}
const %rows : i64[2] = {-1, 4}
%t = Transpose(%x) {perm=[2,0,1]}
%y = Reshape(%t, %rows))"},
    {"Slice", R"(input %x : f32[r,c]
const %starts : i64[2] = {1, 0}
const %ends : i64[2] = {9223372036854775807, 9223372036854775807}
const %axes : i64[2] = {0, 1}
%t = Slice(%x, %starts, %ends, %axes)
%y = Neg(%t))"},
    {"SliceOfThree", R"(input %x : f32[r,5,c]
const %starts : i64[1] = {3}
const %ends : i64[1] = {-9223372036854775807}
const %axes : i64[1] = {1}
const %steps : i64[1] = {-2}
%t = Slice(%x, %starts, %ends, %axes, %steps)
%y = Neg(%t))"},
    {"Concat", R"(input %x : f32[r,c]
input %z : f32[c,c]
%a = Neg(%x)
%y = Concat(%a, %z) {axis=0})"},
    {"ConcatAlongRows", R"(input %x : f32[r,c]
input %z : f32[r,3]
%y = Concat(%x, %z) {axis=1})"},
    {"Split", R"(input %x : f32[r,6,c]
const %parts : i64[2] = {2, 4}
%a, %b = Split(%x, %parts) {axis=1}
%s = ReduceSum(%a) {keepdims=1}
%y = Mul(%b, %s))"},
    {"Gather", R"(input %i : i64[r,c]
input %w : f32[4,7]
%y = Gather(%w, %i))"},
    {"GatherElements", R"(input %x : f32[r,4]
input %i : i64[r,c]
%y = GatherElements(%x, %i) {axis=1})"},
    {"Trilu", R"(input %x : f32[2,r,c]
%y = Trilu(%x) {upper=0})"},
    {"Expand", R"(input %x : f32[r,1]
input %z : f32[r,c]
%y = Sub(%x, %z))"},
    {"Product", R"(input %x : f32[r,24]
input %w : f32[24,40]
input %wb : f32[40]
%p = MatMul(%x, %w)
%a = Add(%p, %wb)
%y = Relu(%a))"},
    {"ProductOfUnevenChannels", R"(input %x : f32[c,r,7]
input %w : f32[7,37]
%y = MatMul(%x, %w))"},
    {"ProductOfFewChannels", R"(input %x : f32[r,19]
input %w : f32[19,3]
%y = Gemm(%x, %w))"},
    {"ProductOfOpenColumns", R"(input %x : f32[2,r,8]
input %z : f32[2,8,c]
%y = MatMul(%x, %z))"},
    {"ProductOfTransposed", R"(input %x : f32[3,r,8]
input %z : f32[3,c,8]
%t = Transpose(%z) {perm=[0,2,1]}
%y = MatMul(%x, %t))"},
    {"ProductOfOpenDepth", R"(input %x : f32[2,r,c]
input %z : f32[2,c,20]
%y = MatMul(%x, %z))"},
    {"ProductOfSquares", R"(input %x : f32[r,c]
%t = Transpose(%x) {perm=[1,0]}
%y = MatMul(%t, %x))"},
    {"SoftmaxAlongOpenRows", R"(input %x : f32[r,c]
%y = Softmax(%x))"},
    {"SoftmaxAcrossOpenRows", R"(input %x : f32[r,c,5]
%y = Softmax(%x) {axis=1})"},
    {"LayerNormalization", R"(input %x : f32[c,r,24]
input %w : f32[24]
input %ws : f32[24]
%y = LayerNormalization(%x, %w, %ws))"},
    {"MeanOfOpenRows", R"(input %x : f32[r,c,6]
%y = ReduceMean(%x) {axes=[1], keepdims=0})"},
    {"SumOfAll", R"(input %x : f32[r,c]
%y = ReduceSum(%x) {keepdims=0})"},
    {"LargestAlongRows", R"(input %x : f32[r,c]
%m = ReduceMax(%x) {axes=[1], keepdims=1}
%y = Sub(%x, %m))"},
    {"LargestOfRows", R"(input %x : f32[r,c]
%y = ReduceMax(%x) {axes=[1], keepdims=1})"},
    {"ArgMax", R"(input %x : f32[r,c]
%y = ArgMax(%x) {axis=1})"},
    {"Attention", R"(input %q : f32[2,r,16]
input %k : f32[2,16,c]
input %v : f32[2,c,24]
input %m : f32[1,1,c]
%s = MatMul(%q, %k)
%t = Add(%s, %m)
%p = Softmax(%t)
%y = MatMul(%p, %v))"},
    {"AttentionOfHeads", R"(input %x : f32[r,c,24]
input %w_small : f32[24,24]
input %w_small_k : f32[24,24]
const %heads : i64[4] = {0, 0, 3, 8}
const %joined : i64[3] = {0, 0, 24}
%q0 = MatMul(%x, %w_small)
%k0 = MatMul(%x, %w_small_k)
%q1 = Reshape(%q0, %heads)
%k1 = Reshape(%k0, %heads)
%v1 = Reshape(%x, %heads)
%q = Transpose(%q1) {perm=[0,2,1,3]}
%k = Transpose(%k1) {perm=[0,2,3,1]}
%v = Transpose(%v1) {perm=[0,2,1,3]}
%s = MatMul(%q, %k)
%p = Softmax(%s)
%o = MatMul(%p, %v)
%t = Transpose(%o) {perm=[0,2,1,3]}
%y = Reshape(%t, %joined))"},
    {"SliceFromTheEnd", R"(input %x : f32[r,c]
const %starts : i64[2] = {-3, -1}
const %ends : i64[2] = {9223372036854775807, 9223372036854775807}
%t = Slice(%x, %starts, %ends)
%y = Neg(%t))"},
    {"SliceBeforeTheEnd", R"(input %x : f32[r,c]
const %starts : i64[1] = {-5}
const %ends : i64[1] = {-2}
%t = Slice(%x, %starts, %ends)
%y = Neg(%t))"},
    {"SliceThatMayBeEmpty", R"(input %x : f32[r,c]
const %starts : i64[2] = {128, 1}
const %ends : i64[2] = {9223372036854775807, -1}
%t = Slice(%x, %starts, %ends)
%y = Neg(%t))"},
    {"Reversed", R"(input %x : f32[r,c]
const %starts : i64[2] = {-1, 3}
const %ends : i64[2] = {-9223372036854775807, -9223372036854775807}
const %axes : i64[2] = {0, 1}
const %steps : i64[2] = {-1, -1}
%t = Slice(%x, %starts, %ends, %axes, %steps)
%y = Neg(%t))"},
    {"ElementsOfSizes", R"(input %x : f32[r,3,c]
const %one : i64[] = {1}
const %one0 : i64[1] = {0}
const %two : i64[1] = {2}
%s = Shape(%x)
%n = Size(%x)
%last = Gather(%s, %two)
%m = Add(%n, %one)
%u = Unsqueeze(%m, %one0)
%y = Concat(%s, %last, %u) {axis=0})"},
    {"Range", R"(input %x : f32[r,c]
const %zero : i64[] = {0}
const %one : i64[] = {1}
const %two : i64[] = {2}
%s = Shape(%x)
%a = Gather(%s, %zero)
%b = Gather(%s, %one)
%e = Add(%a, %b)
%y = Range(%a, %e, %two))"},
    {"SliceFromSizes", R"(input %x : f32[r,c]
input %p : f32[c,3]
const %zero : i64[1] = {0}
%s = Shape(%x)
%a = Gather(%s, %zero)
%e = Add(%a, %a)
%t = Slice(%p, %a, %e, %zero)
%y = Neg(%t))"},
    {"Pad", R"(input %x : f32[r,3,c]
const %pads : i64[6] = {1, 0, 2, 0, 1, 3}
%p = Pad(%x, %pads)
%y = Neg(%p))"},
    {"PadWithEdges", R"(input %x : f32[r,c]
const %pads : i64[4] = {2, 0, 1, 3}
%y = Pad(%x, %pads) {mode="edge"})"},
    {"DepthToSpace", R"(input %x : f32[1,8,r,c]
%y = DepthToSpace(%x) {blocksize=2})"},
    {"Convolution", R"(input %x : f32[1,5,r,c]
input %w : f32[40,5,3,3]
input %wb : f32[40]
%a = Conv(%x, %w, %wb) {pads=[1,1,1,1]}
%y = Relu(%a))"},
    {"ConvolutionOfStrides", R"(input %x : f32[1,3,r,c]
input %w : f32[16,3,3,3]
%a = Conv(%x, %w) {auto_pad="SAME_UPPER", strides=[2,2]}
%y = Sigmoid(%a))"},
    {"ConvolutionWithoutPadding", R"(input %x : f32[2,4,r,c]
input %w : f32[37,4,3,2]
%y = Conv(%x, %w) {dilations=[2,1]})"},
    {"ConvolutionOfOpenBatch", R"(input %x : f32[r,4,6,c]
input %w : f32[16,4,3,3]
%y = Conv(%x, %w) {pads=[0,1,0,1]})"},
    {"ConvolutionInGroups", R"(input %x : f32[1,8,r,c]
input %w : f32[12,4,3,3]
%y = Conv(%x, %w) {group=2, pads=[1,1,1,1]})"},
    {"ConvolutionOfPixels", R"(input %x : f32[1,12,r,c]
input %w : f32[24,12,1,1]
%a = Relu(%x)
%y = Conv(%a, %w))"},
    {"ConvolutionOfPixelsInStrides", R"(input %x : f32[1,12,r,c]
input %w : f32[24,12,1,1]
input %w3 : f32[12,12,3,3]
%a = Conv(%x, %w3) {pads=[1,1,1,1]}
%b = Relu(%a)
%y = Conv(%b, %w) {strides=[2,2]})"},
    {"ConvolutionOfLines", R"(input %x : f32[2,8,c]
input %z : f32[r]
input %w : f32[16,8,3]
%a = Conv(%x, %w) {pads=[2,0], dilations=[1]}
%s = ReduceSum(%z) {keepdims=1}
%y = Mul(%a, %s))"},
    {"ConvolutionOfChannels", R"(input %x : f32[1,24,r,c]
input %w : f32[24,1,3,3]
input %wb : f32[24]
%a = Conv(%x, %w, %wb) {group=24, pads=[1,1,1,1]}
%y = Clip(%a))"},
    {"ConvolutionOfChannelsInStrides", R"(input %x : f32[1,16,r,c]
input %w : f32[16,1,5,5]
%y = Conv(%x, %w) {group=16, auto_pad="SAME_LOWER", strides=[2,2]})"},
    {"TransposedConvolution", R"(input %x : f32[1,4,r,c]
input %w : f32[4,16,3,3]
%y = ConvTranspose(%x, %w) {strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]})"},
    {"PaddedConvolution", R"(input %x : f32[1,3,r,c]
input %w : f32[8,3,3,3]
const %pads : i64[8] = {0, 0, 0, 1, 0, 0, 1, 0}
%p = Pad(%x, %pads)
%y = Conv(%p, %w) {strides=[2,2]})"},
    {"MaxPool", R"(input %x : f32[1,20,r,c]
input %w : f32[20,20,1,1]
%a = Conv(%x, %w)
%y = MaxPool(%a) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]})"},
    {"MaxPoolOfRoundedSizes", R"(input %x : f32[r,3,c]
%y = MaxPool(%x) {kernel_shape=[2], strides=[2], ceil_mode=1})"},
    {"AveragePool", R"(input %x : f32[1,5,r,c]
%y = AveragePool(%x) {kernel_shape=[3,2], pads=[1,0,1,1], count_include_pad=1})"},
    {"AveragePoolToSame", R"(input %x : f32[1,5,r,c]
%a = AveragePool(%x) {kernel_shape=[3,3], strides=[2,2], auto_pad="SAME_UPPER"}
%y = Neg(%a))"},
    {"GlobalAveragePool", R"(input %x : f32[2,5,r,c]
%y = GlobalAveragePool(%x))"},
    {"LocalResponse", R"(input %x : f32[1,5,r,c]
%y = LRN(%x) {size=3})"},
    {"ResizeToNearest", R"(input %x : f32[1,3,r,c]
const %scales : f32[4] = {1.0, 1.0, 2.0, 3.0}
%y = Resize(%x, _, %scales) {coordinate_transformation_mode="asymmetric", nearest_mode="floor"})"},
    {"ResizeBySums", R"(input %x : f32[1,3,r,c]
const %scales : f32[4] = {1.0, 1.0, 2.0, 0.5}
%y = Resize(%x, _, %scales) {mode="linear"})"},
    {"ResizeByCubics", R"(input %x : f32[1,3,r,c]
const %scales : f32[4] = {1.0, 1.0, 2.0, 2.0}
%y = Resize(%x, _, %scales) {mode="cubic", coordinate_transformation_mode="align_corners", exclude_outside=1})"},
    {"CumSum", R"(input %x : f32[r,c]
const %axis : i64[] = {0}
%y = CumSum(%x, %axis))"},
    {"CumSumBesideOpenAxes", R"(input %x : f32[r,5,c]
const %axis : i64[] = {1}
%s = CumSum(%x, %axis) {exclusive=1}
%y = Neg(%s))"},
    {"CumSumReverse", R"(input %x : i64[c,3,r]
const %axis : i64[] = {-1}
%y = CumSum(%x, %axis) {reverse=1})"},
    {"CumSumReverseExclusive", R"(input %x : f32[2,r,c]
const %axis : i64[] = {1}
%y = CumSum(%x, %axis) {reverse=1, exclusive=1})"},
    {"Lstm", R"(input %x : f32[r,c,3]
input %w_small : f32[1,64,3]
input %w_smallr : f32[1,64,16]
input %w_smallb : f32[1,128]
%y, %h, %k = LSTM(%x, %w_small, %w_smallr, %w_smallb) {hidden_size=16}
output %y
output %h
output %k)"},
    {"LstmReverseWithStates", R"(input %x : f32[r,c,3]
input %h0 : f32[1,c,5]
input %k0 : f32[1,c,5]
input %w_small : f32[1,20,3]
input %w_smallr : f32[1,20,5]
%y, %h, %k = LSTM(%x, %w_small, %w_smallr, _, _, %h0, %k0) {hidden_size=5, direction="reverse"}
output %y
output %h
output %k)"},
    {"LstmOfBothDirectionsBatchFirst", R"(input %x : f32[c,r,3]
input %k0 : f32[c,2,20]
input %w_small : f32[2,80,3]
input %w_smallr : f32[2,80,20]
input %w_smallb : f32[2,160]
%y, %h, %k = LSTM(%x, %w_small, %w_smallr, %w_smallb, _, _, %k0) {hidden_size=20, direction="bidirectional", layout=1}
output %y
output %h
output %k)"},
    {"LstmOfSequencesThatEnd", R"(input %x : f32[r,c,3]
input %lengths : i32[c]
input %h0 : f32[2,c,6]
input %w_small : f32[2,24,3]
input %w_smallr : f32[2,24,6]
%y, %h, %k = LSTM(%x, %w_small, %w_smallr, _, %lengths, %h0) {hidden_size=6, direction="bidirectional"}
output %y
output %h
output %k)"},
    {"LstmOfOpenLength", R"(input %x : f32[r,2,4]
input %w_small : f32[1,128,4]
input %w_smallr : f32[1,128,32]
input %wk0 : f32[1,2,32]
%y, %h = LSTM(%x, %w_small, %w_smallr, _, _, _, %wk0) {hidden_size=32}
output %y
output %h)"},
    {"LstmOfOpenBatch", R"(input %x : f32[3,c,4]
input %w_small : f32[1,512,4]
input %w_smallr : f32[1,512,128]
_, %h = LSTM(%x, %w_small, %w_smallr) {hidden_size=128}
output %h)"},
    {"LstmWithoutLastStates", R"(input %x : f32[r,c,4]
input %w_small : f32[1,64,4]
input %w_smallr : f32[1,64,16]
%a = LSTM(%x, %w_small, %w_smallr) {hidden_size=16}
const %axis : i64[1] = {1}
%s = Squeeze(%a, %axis)
%y = Relu(%s))"},
    {"Gru", R"(input %x : f32[r,c,3]
input %w_small : f32[1,96,3]
input %w_smallr : f32[1,96,32]
input %w_smallb : f32[1,192]
%y, %h = GRU(%x, %w_small, %w_smallr, %w_smallb) {hidden_size=32, linear_before_reset=1}
output %y
output %h)"},
    {"GruThatResetsBefore", R"(input %x : f32[r,c,3]
input %h0 : f32[2,c,20]
input %w_small : f32[2,60,3]
input %w_smallr : f32[2,60,20]
%y, %h = GRU(%x, %w_small, %w_smallr, _, _, %h0) {hidden_size=20, direction="bidirectional"}
output %y
output %h)"},
    {"GruOfOpenBatch", R"(input %x : f32[2,c,4]
input %w_small : f32[1,576,4]
input %w_smallr : f32[1,576,192]
%y, %h = GRU(%x, %w_small, %w_smallr) {hidden_size=192}
output %y
output %h)"},
    {"GruOfSequencesThatEnd", R"(input %x : f32[c,r,3]
input %lengths : i32[c]
input %w_small : f32[1,48,3]
input %w_smallr : f32[1,48,16]
%y, %h = GRU(%x, %w_small, %w_smallr, _, %lengths) {hidden_size=16, direction="reverse", layout=1}
output %y
output %h)"},
    {"Rnn", R"(input %x : f32[r,c,3]
input %w_small : f32[1,16,3]
input %w_smallr : f32[1,16,16]
%y, %h = RNN(%x, %w_small, %w_smallr) {hidden_size=16, direction="reverse"}
output %y
output %h)"},
    {"RnnOfSequencesThatEnd", R"(input %x : f32[r,c,3]
input %lengths : i32[c]
input %h0 : f32[1,c,7]
input %w_small : f32[1,7,3]
input %w_smallr : f32[1,7,7]
%y, %h = RNN(%x, %w_small, %w_smallr, _, %lengths, %h0) {hidden_size=7, activations=["Relu"]}
output %y
output %h)"},
};

/// Returns a graph with these sizes, or with open ones.
Result<Graph> graph_of(const char* nodes, const std::string& rows, const std::string& columns) {
  std::string text = std::regex_replace(nodes, std::regex("\\br\\b(?=[,\\]])"), rows);
  text = std::regex_replace(text, std::regex("\\bc\\b(?=[,\\]])"), columns);
  if (!text.contains("output %")) text += "\noutput %y";
  return make_graph("graph \"g\" opsets {\"\": 17}\n" + text + "\n");
}

/// Returns random inputs; lengths of sequences are at most `steps`.
std::vector<Tensor> random_inputs(const Graph& graph, uint64_t seed, int64_t steps) {
  std::vector<Tensor> inputs;
  for (ValueId input : graph.inputs) {
    const auto& [dtype, shape] =
        std::pair{graph.value(input).type.dtype, graph.value(input).type.fixed_shape()};
    inputs.push_back(random_tensor(dtype, *shape, ++seed));
    if (graph.value(input).name != "lengths") continue;
    std::mt19937_64 random(seed);
    for (int32_t& length : inputs.back().as<int32_t>())
      length = static_cast<int32_t>(random() % static_cast<uint64_t>(steps + 1));
  }
  return inputs;
}

class OpenKernels : public testing::TestWithParam<Case> {
 protected:
  void expect_right(const LoadedRegion& region, int64_t rows, int64_t columns, ThreadTeam* threads) {
    SCOPED_TRACE(fmt::format("{} rows, {} columns", rows, columns));
    const Result<Graph> fixed = graph_of(GetParam().text, std::to_string(rows), std::to_string(columns));
    if (!fixed) return;  // a window does not fit into the tensor
    const std::vector<Tensor> inputs = random_inputs(*fixed, 10, rows);
    const auto want = run_reference(*fixed, inputs);
    if (!want) {
      EXPECT_FALSE(region.run_guarded(inputs, true, {Shape{rows}}, threads)) << want.error().message;
      return;
    }
    std::vector<Shape> shapes;
    for (const Tensor& tensor : *want) shapes.push_back(tensor.shape());
    for (bool at_end : {true, false}) {
      const auto got = region.run_guarded(inputs, at_end, shapes, threads);
      ASSERT_TRUE(got) << got.error().message;
      for (size_t i = 0; i < want->size(); ++i)
        EXPECT_EQ(compare((*got)[i].view(), (*want)[i].view()), "") << "at end: " << at_end;
    }
  }
};

TEST_P(OpenKernels, AgreeWithReferenceAtAllSizes) {
  const Result<Graph> open = graph_of(GetParam().text, "rows", "columns");
  ASSERT_TRUE(open) << open.error().message;
  constexpr int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 13, 16, 17, 31, 33, 64, 65, 127, 130};
  for (const int threads : {1, 2}) {
    const auto region = LoadedRegion::make(*open, {threads, "native", {}}, {});
    ASSERT_TRUE(region) << region.error().message;
    TestTeam team(threads);
    std::mt19937 random(static_cast<uint32_t>(threads));
    for (size_t i = 0; i < std::size(sizes) * rounds(); ++i)
      expect_right(**region, sizes[i % std::size(sizes)], sizes[random() % std::size(sizes)], &team);
  }
}

TEST(OpenRecurrences, LengthsBeyondTheStepsAreAnError) {
  const Result<Graph> open = make_graph(R"(graph "g" opsets {"": 17}
input %x : f32[r,c,3]
input %lengths : i32[c]
input %w : f32[1,7,3]
input %wr : f32[1,7,7]
%y = RNN(%x, %w, %wr, _, %lengths) {hidden_size=7}
output %y
)");
  ASSERT_TRUE(open) << open.error().message;
  const auto region = LoadedRegion::make(*open, {1, "native", {}}, {});
  ASSERT_TRUE(region) << region.error().message;
  const auto run = [&](int32_t length) {
    Tensor lengths(DType::i32, {2});
    lengths.as<int32_t>()[0] = 1, lengths.as<int32_t>()[1] = length;
    return (*region)->run_guarded({random_tensor(DType::f32, {4, 2, 3}, 1), lengths}, true, {{4, 1, 2, 7}});
  };
  EXPECT_TRUE(run(0));
  EXPECT_TRUE(run(4));
  for (int32_t length : {-1, 5}) {
    const auto got = run(length);
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().message.find("is out of range 0 to 4"), std::string::npos) << got.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OpenKernels, testing::ValuesIn(open_cases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace intarsia::test
