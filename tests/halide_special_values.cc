// NaN, infinity, signed zeros, denormals and the numbers around which functions overflow, through the kernels of the halide
// backend: as the reference kernels give, or C.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include "halide_support.h"

namespace intarsia::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr float least = std::numeric_limits<float>::denorm_min(), largest = std::numeric_limits<float>::max();
constexpr float special[] = {infinity, -infinity, nan, -nan, 0.0f, -0.0f, least, -least, 1e-40f, -1e-40f, 1e-30f, -1e-30f,
                             1e-5f, -1e-5f, 3e-4f, 0.5f, -0.5f, 1, -1, 2, -2, 3.9f, -3.9f, 4.2f, -4.2f, 8, -8, 9.5f, -9.5f,
                             20, -20, 80, -80, 87.3f, -87.3f, -87.5f, 88.5f, 88.7f, 88.73f, 89.5f, -89.5f, -103, -104.5f, 110,
                             -110, 1e10f, -1e10f, 1e30f, -1e30f, largest, -largest};

/// Numbers differ by at most 2e-6 of themselves, or by what is denormal; functions of numbers near one by as much of one.
void expect_same(std::span<const float> got, std::span<const float> want, std::span<const float> x, double absolute, const std::string& what) {
  for (size_t i = 0; i < want.size(); ++i) {
    const double g = got[i], w = want[i];
    const bool same = g == w || (std::isnan(g) && std::isnan(w)) || std::fabs(g - w) <= absolute + 4e-6 * std::fabs(w) + 1.2e-38;
    EXPECT_TRUE(same) << what << " of " << x[i % x.size()] << ": got " << g << ", want " << w;
  }
}

Tensor tensor_of(std::span<const float> values, Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  std::ranges::copy(values, tensor.as<float>().begin());
  return tensor;
}

/// Runs a graph whose outputs are all f32, on every level of the instruction set, and compares each output.
void expect_as_reference(const std::string& text, const std::vector<Tensor>& inputs, double absolute, std::span<const std::string> names) {
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
      expect_same((*got)[i].as<float>(), (*want)[i].as<float>(), inputs[0].as<float>(), absolute, names[i] + " for " + level);
  }
}

constexpr int64_t count = std::size(special);

/// One kernel for each call, such as Elu(%x) {alpha=0.5}.
void expect_calls(const std::vector<std::string>& calls, double absolute, const std::string& before = "") {
  std::string text = fmt::format("input %x : f32[{}]\n{}", count, before);
  for (size_t i = 0; i < calls.size(); ++i) text += fmt::format("%y{} = {}\noutput %y{}\n", i, calls[i], i);
  expect_as_reference(text, {tensor_of(special, {count})}, absolute, calls);
}

TEST(HalideSpecialValues, OfUnaryOperators) {
  std::vector<std::string> calls;
  for (const char* op : {"Abs", "Neg", "Sign", "Relu", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "LeakyRelu", "ThresholdedRelu",
                         "Softsign", "Shrink", "Exp", "Log", "HardSigmoid", "HardSwish", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan",
                         "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Tanh", "Erf", "Sigmoid", "Softplus", "Swish", "Mish"})
    calls.push_back(std::string(op) + "(%x)");
  expect_calls(calls, 3e-7);
}

/// These reference kernels themselves round about numbers near one.
TEST(HalideSpecialValues, OfUnaryOperatorsWithParameters) {
  expect_calls({"Gelu(%x)", "Gelu(%x) {approximate=\"tanh\"}", "Elu(%x)", "Elu(%x) {alpha=0.5}", "Celu(%x) {alpha=2.0}", "Selu(%x)",
                "LeakyRelu(%x) {alpha=0.2}", "Clip(%x, %low, %high)", "Clip(%x, _, %high)", "Swish(%x) {alpha=0.5}"},
               1e-6, "const %low : f32[] = {-1}\nconst %high : f32[] = {2}\n");
}

/// Their own functions of f64 are made of others.
TEST(HalideSpecialValues, OfDoubles) {
  std::string text = fmt::format("input %x : f32[{}]\n%d = Cast(%x) {{to=11}}\n", count);
  std::vector<std::string> names{"Exp", "Log", "Sigmoid", "Softplus", "Elu", "Celu", "Selu", "HardSwish", "Relu"};
  for (const std::string& name : names) text += fmt::format("%e{0} = {0}(%d)\n%y{0} = Cast(%e{0}) {{to=1}}\noutput %y{0}\n", name);
  expect_as_reference(text, {tensor_of(special, {count})}, 3e-7, names);
}

/// Every special value with every other.
TEST(HalideSpecialValues, OfBinaryOperators) {
  std::string text = fmt::format("input %x : f32[1,{0}]\ninput %y : f32[{0},1]\nconst %slope : f32[1] = {{0.5}}\n", count);
  std::vector<std::string> names{"Add(%x, %y)", "Sub(%x, %y)", "Mul(%x, %y)", "Div(%x, %y)", "Max(%x, %y)", "Min(%x, %y)", "PRelu(%x, %slope)"};
  for (size_t i = 0; i < names.size(); ++i) text += fmt::format("%r{0} = {1}\noutput %r{0}\n", i, names[i]);
  expect_as_reference(text, {tensor_of(special, {1, count}), tensor_of(special, {count, 1})}, 0, names);
}

/// Powers that are no numbers or not of numbers; exp(y log x) is exact to a few parts of a million.
TEST(HalideSpecialValues, OfPowers) {
  const float some[] = {infinity, -infinity, nan, 0, 1, -1, 2, -2, 3, -3, 0.5f, -0.5f, 0.3f, 40, -41, 1e30f, -1e30f};
  const auto n = static_cast<int64_t>(std::size(some));
  const std::string text = fmt::format("input %x : f32[1,{0}]\ninput %y : f32[{0},1]\n%r = Pow(%x, %y)\noutput %r\n", n);
  const std::string names[] = {"Pow"};
  expect_as_reference(text, {tensor_of(some, {1, n}), tensor_of(some, {n, 1})}, 1e-6, names);
}

}  // namespace
}  // namespace intarsia::test
