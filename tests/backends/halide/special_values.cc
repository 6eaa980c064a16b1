// NaN, infinity, signed zeros, denormals and the numbers around which functions overflow, through the kernels
// of the halide backend: the results are those of the reference kernels, or of C.
//
// Covers: backends/halide/build/ build_elementwise.cc math.cc
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(),
                nan = std::numeric_limits<float>::quiet_NaN();
constexpr float least = std::numeric_limits<float>::denorm_min(), largest = std::numeric_limits<float>::max();
constexpr float special[] = {infinity, -infinity, nan,     -nan,   0.0f,    -0.0f,   least,   -least, 1e-40f,
                             -1e-40f,  1e-30f,    -1e-30f, 1e-5f,  -1e-5f,  3e-4f,   0.5f,    -0.5f,  1,
                             -1,       2,         -2,      3.9f,   -3.9f,   4.2f,    -4.2f,   8,      -8,
                             9.5f,     -9.5f,     20,      -20,    80,      -80,     87.3f,   -87.3f, -87.5f,
                             88.5f,    88.7f,     88.73f,  89.5f,  -89.5f,  -103,    -104.5f, 110,    -110,
                             1e10f,    -1e10f,    1e30f,   -1e30f, largest, -largest};

/// Expects numbers that differ by at most 8e-6 relative (without FMA exp(x) is off by 4e-8 x), by a denormal
/// number, or by `absolute`.
void expect_same(std::span<const float> got, std::span<const float> want, std::span<const float> x,
                 double absolute, const std::string& what) {
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = got[i], w = want[i];
    const bool same = g == w || (std::isnan(g) && std::isnan(w)) ||
                      std::fabs(g - w) <= absolute + 8e-6 * std::fabs(w) + 1.2e-38;
    EXPECT_TRUE(same) << what << " of " << x[i % x.size()] << ": got " << g << ", want " << w;
  }
}

Tensor tensor_of(std::span<const float> values, Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  std::ranges::copy(values, tensor.as<float>().begin());
  return tensor;
}

/// Runs a graph whose outputs are all f32, on every level of the instruction set, and compares each output.
void expect_as_reference(const std::string& text, const std::vector<Tensor>& inputs, double absolute,
                         std::span<const std::string> names) {
  Result<Graph> graph = make_graph("graph \"special\" opsets {\"\": 20}\n" + text);
  ASSERT_TRUE(graph) << graph.error().message;
  auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;
  for (const char* level : {"native", "x86-64-v3", "x86-64-v2"}) {
    auto loaded = LoadedRegion::make(*graph, {1, level, {}}, {});
    ASSERT_TRUE(loaded) << loaded.error().message;
    auto got = (*loaded)->run(inputs, nullptr);
    ASSERT_TRUE(got) << got.error().message;
    for (size_t i = 0; i < want->size(); ++i)
      expect_same((*got)[i].as<float>(), (*want)[i].as<float>(), inputs[0].as<float>(), absolute,
                  names[i] + " for " + level);
  }
}

constexpr int64_t count = std::size(special);

/// Compares one kernel for each call, such as Elu(%x) {alpha=0.5}.
void expect_calls(const std::vector<std::string>& calls, double absolute, const std::string& before = "") {
  std::string text = fmt::format("input %x : f32[{}]\n{}", count, before);
  for (size_t i = 0; i < calls.size(); ++i) text += fmt::format("%y{} = {}\noutput %y{}\n", i, calls[i], i);
  expect_as_reference(text, {tensor_of(special, {count})}, absolute, calls);
}

TEST(HalideSpecialValues, OfUnaryOperators) {
  std::vector<std::string> calls;
  for (const char* op : {"Abs",
                         "Neg",
                         "Sign",
                         "Relu",
                         "Sqrt",
                         "Reciprocal",
                         "Floor",
                         "Ceil",
                         "Round",
                         "LeakyRelu",
                         "ThresholdedRelu",
                         "Softsign",
                         "Shrink",
                         "Exp",
                         "Log",
                         "HardSigmoid",
                         "HardSwish",
                         "Sin",
                         "Cos",
                         "Tan",
                         "Asin",
                         "Acos",
                         "Atan",
                         "Sinh",
                         "Cosh",
                         "Asinh",
                         "Acosh",
                         "Atanh",
                         "Tanh",
                         "Erf",
                         "Sigmoid",
                         "Softplus",
                         "Swish",
                         "Mish"})
    calls.push_back(std::string(op) + "(%x)");
  expect_calls(calls, 3e-7);
}

/// Compares operators whose reference kernels round near one themselves.
TEST(HalideSpecialValues, OfUnaryOperatorsWithParameters) {
  expect_calls({"Gelu(%x)", "Gelu(%x) {approximate=\"tanh\"}", "Elu(%x)", "Elu(%x) {alpha=0.5}",
                "Celu(%x) {alpha=2.0}", "Selu(%x)", "LeakyRelu(%x) {alpha=0.2}", "Clip(%x, %low, %high)",
                "Clip(%x, _, %high)", "Swish(%x) {alpha=0.5}"},
               1e-6, "const %low : f32[] = {-1}\nconst %high : f32[] = {2}\n");
}

/// Compares f64 operators, whose functions are composed of others.
TEST(HalideSpecialValues, OfDoubles) {
  std::string text = fmt::format("input %x : f32[{}]\n%d = Cast(%x) {{to=11}}\n", count);
  std::vector<std::string> names{"Exp",  "Log",  "Sigmoid",   "Softplus", "Elu",
                                 "Celu", "Selu", "HardSwish", "Relu"};
  for (const std::string& name : names)
    text += fmt::format("%e{0} = {0}(%d)\n%y{0} = Cast(%e{0}) {{to=1}}\noutput %y{0}\n", name);
  expect_as_reference(text, {tensor_of(special, {count})}, 3e-7, names);
}

/// Combines every special value with every other.
TEST(HalideSpecialValues, OfBinaryOperators) {
  std::string text =
      fmt::format("input %x : f32[1,{0}]\ninput %y : f32[{0},1]\nconst %slope : f32[1] = {{0.5}}\n", count);
  std::vector<std::string> names{"Add(%x, %y)", "Sub(%x, %y)", "Mul(%x, %y)",      "Div(%x, %y)",
                                 "Max(%x, %y)", "Min(%x, %y)", "PRelu(%x, %slope)"};
  for (size_t i = 0; i < names.size(); ++i) text += fmt::format("%r{0} = {1}\noutput %r{0}\n", i, names[i]);
  expect_as_reference(text, {tensor_of(special, {1, count}), tensor_of(special, {count, 1})}, 0, names);
}

TEST(HalideSpecialValues, OfComparisons) {
  std::string text = fmt::format("input %x : f32[1,{0}]\ninput %y : f32[{0},1]\n", count);
  const std::vector<std::string> names{"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"};
  for (const std::string& name : names)
    text += fmt::format("%b{0} = {0}(%x, %y)\n%r{0} = Cast(%b{0}) {{to=1}}\noutput %r{0}\n", name);
  expect_as_reference(text, {tensor_of(special, {1, count}), tensor_of(special, {count, 1})}, 0, names);
}

/// Compares powers that are NaN or infinite, or powers of such numbers.
TEST(HalideSpecialValues, OfPowers) {
  const float some[] = {infinity, -infinity, nan,  0,     -0.0f, 1,  -1,  2,     -2,
                        3,        -3,        0.5f, -0.5f, 0.3f,  40, -41, 1e30f, -1e30f};
  const auto n = static_cast<int64_t>(std::size(some));
  const std::string text =
      fmt::format("input %x : f32[1,{0}]\ninput %y : f32[{0},1]\n%r = Pow(%x, %y)\noutput %r\n", n);
  const std::string names[] = {"Pow"};
  expect_as_reference(text, {tensor_of(some, {1, n}), tensor_of(some, {n, 1})}, 1e-6, names);
}

/// Makes rows of numbers with masked ones; all masked; with a NaN; with infinity; with numbers far apart;
/// with zeros of both signs.
Tensor special_rows(int64_t rows, int64_t columns) {
  Tensor tensor = random_tensor(DType::f32, {rows, columns}, 5);
  const auto x = tensor.as<float>();
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t row = i / columns, column = i % columns;
    float& element = x[static_cast<size_t>(i)];
    if (row == 0 && column % 3 == 0) element = -infinity;
    if (row == 1) element = -infinity;
    if (row == 2 && column == columns - 2) element = nan;
    if (row == 3 && column == columns / 2) element = infinity;
    if (row == 4) element = element > 0 ? 1e10f * element : -103;
    if (row == 5) element = column % 2 ? 0.0f : -0.0f;
  }
  return tensor;
}

TEST(HalideSpecialValues, OfRows) {
  const std::vector<std::string> calls{"Softmax(%x)",
                                       "LogSoftmax(%x)",
                                       "ReduceMax(%x, %axis)",
                                       "ReduceMin(%x, %axis)",
                                       "ReduceSum(%x, %axis)",
                                       "ReduceMean(%x, %axis)",
                                       "ReduceLogSumExp(%x, %axis)",
                                       "ReduceL2(%x, %axis)",
                                       "LayerNormalization(%x, %scale)"};
  for (int64_t columns : {3, 16, 37, 131}) {
    std::string text = fmt::format(
        "input %x : f32[6,{0}]\nconst %axis : i64[1] = {{1}}\ninput %w_scale : f32[{0}]\n", columns);
    for (size_t i = 0; i < calls.size(); ++i) {
      std::string call = calls[i];
      if (const size_t at = call.find("%scale"); at != std::string::npos) call.replace(at, 6, "%w_scale");
      text += fmt::format("%r{0} = {1}\noutput %r{0}\n", i, call);
    }
    expect_as_reference(text, {special_rows(6, columns)}, 1e-6, calls);
  }
}

/// Processors take about 100 times as long for denormal numbers, which masked scores would all become.
TEST(HalideSpecialValues, ProbabilitiesAreNeverDenormal) {
  std::vector<float> scores{0};
  for (float score = -86; score > -106; score -= 0.25f) scores.push_back(score);
  const Shape shape{1, std::ssize(scores)};
  const Result<Graph> graph = make_graph(fmt::format(
      "graph \"scores\" opsets {{\"\": 20}}\ninput %x : f32[1,{}]\n%y = Softmax(%x)\noutput %y\n", shape[1]));
  ASSERT_TRUE(graph) << graph.error().message;
  for (const char* level : {"native", "x86-64-v3", "x86-64-v2"}) {
    auto loaded = LoadedRegion::make(*graph, {1, level, {}}, {});
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto got = (*loaded)->run({tensor_of(scores, shape)}, nullptr);
    ASSERT_TRUE(got) << got.error().message;
    for (size_t i = 0; i < scores.size(); ++i) {
      const float probability = (*got)[0].as<float>()[i], want = std::exp(scores[i]);
      EXPECT_NE(std::fpclassify(probability), FP_SUBNORMAL) << scores[i] << " for " << level;
      EXPECT_NEAR(probability, want, 8e-6 * want + 1.2e-38) << scores[i] << " for " << level;
    }
  }
}

/// Reduces across rows: the innermost axis in memory stays.
TEST(HalideSpecialValues, OfColumns) {
  const std::vector<std::string> calls{"Softmax(%x) {axis=0}", "LogSoftmax(%x) {axis=0}",
                                       "ReduceMax(%x, %axis)", "ReduceMin(%x, %axis)"};
  std::string text = "input %x : f32[6,37]\nconst %axis : i64[1] = {0}\n";
  for (size_t i = 0; i < calls.size(); ++i) text += fmt::format("%r{0} = {1}\noutput %r{0}\n", i, calls[i]);
  expect_as_reference(text, {special_rows(6, 37)}, 1e-6, calls);
}

/// Compares operators applied to sums of products, which LLVM may assume to be numbers, in registers.
TEST(HalideSpecialValues, OfWhatFollowsProducts) {
  for (const char* op : {"Relu", "Exp", "Log", "Tanh", "Erf", "Sigmoid", "Softplus", "Gelu", "HardSwish",
                         "Mish", "Elu", "LeakyRelu", "Softsign"}) {
    const std::string names[] = {std::string(op) + " after MatMul",
                                 std::string(op) + " after MatMul and Add"};
    const std::string text = fmt::format(R"(input %x : f32[6,37]
input %w_product : f32[37,19]
input %w_bias : f32[19]
%product = MatMul(%x, %w_product)
%r0 = {0}(%product)
%sum = Add(%product, %w_bias)
%r1 = {0}(%sum)
output %r0
output %r1
)",
                                         op);
    expect_as_reference(text, {special_rows(6, 37)}, 1e-5, names);
  }
}

/// Checks rows of scores that are fully masked, partly masked, or contain NaN, and values that are NaN.
TEST(HalideSpecialValues, OfAttention) {
  constexpr int64_t rows = 8, keys = 37, depth = 3, channels = 5;
  std::vector<Tensor> inputs{tensor_of(std::vector<float>(rows * keys, 0), {rows, keys}),
                             random_tensor(DType::f32, {2, rows, depth}, 1),
                             random_tensor(DType::f32, {2, depth, keys}, 2),
                             random_tensor(DType::f32, {2, keys, channels}, 3)};
  std::span<float> mask = inputs[0].as<float>();
  for (size_t i = 0; i < keys; ++i) {
    mask[i] = -infinity;
    mask[keys + i] = i % 3 == 0 ? -infinity : 0;
    mask[2 * keys + i] = i + 1 < keys ? -infinity : 0;
    mask[3 * keys + i] = -1e30f;
  }
  mask[4 * keys + 36] = nan;
  mask[5 * keys + 7] = infinity;
  mask[6 * keys + 1] = largest;
  inputs[3].as<float>()[36 * channels + 1] = infinity;
  inputs[3].as<float>()[keys * channels + 2] = nan;
  const std::string names[] = {"attention"};
  expect_as_reference(R"(input %m : f32[8,37]
input %q : f32[2,8,3]
input %k : f32[2,3,37]
input %v : f32[2,37,5]
%s = MatMul(%q, %k)
%t = Add(%s, %m)
%p = Softmax(%t)
%y = MatMul(%p, %v)
output %y
)",
                      inputs, 1e-6, names);
}

TEST(HalideSpecialValues, OfWhatFollowsConvolutions) {
  Tensor x = random_tensor(DType::f32, {1, 3, 9, 9}, 5);
  x.as<float>()[100] = nan, x.as<float>()[7] = infinity;
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "HardSwish"}) {
    const std::string names[] = {std::string(op) + " after Conv"};
    const std::string text = fmt::format(R"(input %x : f32[1,3,9,9]
input %w : f32[16,3,3,3]
input %w_bias : f32[16]
%c = Conv(%x, %w, %w_bias) {{pads=[1,1,1,1]}}
%r = {}(%c)
output %r
)",
                                         op);
    expect_as_reference(text, {x}, 1e-5, names);
  }
}

/// Checks that the NaN of one step stays, as ONNX requires of the state.
TEST(HalideSpecialValues, OfRecurrentSteps) {
  Tensor x = random_tensor(DType::f32, {5, 4, 3}, 5);
  x.as<float>()[2 * 12] = nan;
  x.as<float>()[2 * 12 + 3] = infinity;
  x.as<float>()[2 * 12 + 6] = 1e10f;
  for (const auto& [op, gates] : {std::pair{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
    const std::string names[] = {op};
    const std::string text = fmt::format(R"(input %x : f32[5,4,3]
input %w : f32[1,{1},3]
input %w_recurrent : f32[1,{1},19]
%y = {0}(%x, %w, %w_recurrent) {{hidden_size=19}}
output %y
)",
                                         op, gates * 19);
    expect_as_reference(text, {x}, 1e-5, names);
  }
}

}  // namespace
}  // namespace intarsia::test
