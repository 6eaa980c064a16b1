// Quantized graphs for every kind of kernel, for tests of where kernels run.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>
#include <random>
#include <string>

#include "tests/support/halide_support.h"

namespace intarsia::test {

struct QuantizedCase {
  const char* name;
  const char* text;         // U and I stand for the types of activations and weights, which tests choose
  double y_scale = 1;       // of the constants %w_scale_y
  bool in_integers = true;  // whether all weights stay integers of 8 bits
};

inline void PrintTo(const QuantizedCase& one, std::ostream* to) { *to << one.name; }

inline constexpr const char* conv_before =
    "%xf = DequantizeLinear(%x, %w_scale_x, %w_zero_x)\n%wf = DequantizeLinear(%w, %w_scale_w, %w_zero_w) "
    "{axis=0}\n";

inline std::string with_types(std::string text, const char* activations, const char* weights) {
  for (const auto& [word, type] : {std::pair{"U[", activations}, std::pair{"I[", weights}})
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += 2)
      if (text[at - 1] == ' ') text.replace(at, 1, type);
  for (size_t at; (at = text.find("CONV")) != std::string::npos;) text.replace(at, 5, conv_before);
  return text;
}

inline constexpr QuantizedCase quantized_cases[] = {
    {"Conv3x3OfThreeChannels",
     "input %x : U[1,3,19,21]\ninput %w : I[10,3,3,3]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[10]\ninput %w_zero_w : I[10]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "input %w_bias : f32[10]\n"
     "CONV\n%c = Conv(%xf, %wf, %w_bias) {pads=[1,1,1,1], strides=[2,2]}\n%r = Relu(%c)\n"
     "%y = QuantizeLinear(%r, %w_scale_y, %w_zero_y)\noutput %y",
     0.2},
    {"Conv7x7OfThreeChannels",
     "input %x : U[1,3,19,21]\ninput %w : I[24,3,7,7]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[24]\ninput %w_zero_w : I[24]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "input %w_bias : f32[24]\n"
     "CONV\n%c = Conv(%xf, %wf, %w_bias) {pads=[3,3,3,3], strides=[2,2]}\n%r = Relu(%c)\n"
     "%y = QuantizeLinear(%r, %w_scale_y, %w_zero_y)\noutput %y",
     0.2},
    {"Conv1x1",
     "input %x : U[2,64,5,7]\ninput %w : I[48,64,1,1]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[48]\ninput %w_zero_w : I[48]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "CONV\n%c = Conv(%xf, %wf)\n%y = QuantizeLinear(%c, %w_scale_y, %w_zero_y)\noutput %y",
     0.5},
    {"ConvInGroups",
     "input %x : U[1,12,9,8]\ninput %w : I[16,6,3,3]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "%xf = DequantizeLinear(%x, %w_scale_x, %w_zero_x)\n%wf = DequantizeLinear(%w, %w_scale_w)\n"
     "%c = Conv(%xf, %wf) {group=2, pads=[1,1,1,1]}\n%y = QuantizeLinear(%c, %w_scale_y, %w_zero_y)\noutput "
     "%y",
     0.4, false},
    {"ConvOfOneChannelEach",
     "input %x : U[1,21,11,13]\ninput %w : I[21,1,3,5]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[21]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "%xf = DequantizeLinear(%x, %w_scale_x, %w_zero_x)\n%wf = DequantizeLinear(%w, %w_scale_w) {axis=0}\n"
     "%c = Conv(%xf, %wf) {group=21, pads=[1,2,1,2]}\n%y = QuantizeLinear(%c, %w_scale_y, %w_zero_y)\noutput "
     "%y",
     0.3, false},
    {"ResidualAndPool",
     "input %x : U[1,16,10,12]\ninput %w : I[16,16,3,3]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[16]\ninput %w_zero_w : I[16]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "CONV\n%c = Conv(%xf, %wf) {pads=[1,1,1,1]}\n%s = Add(%c, %xf)\n"
     "%q = QuantizeLinear(%s, %w_scale_y, %w_zero_y)\n%d = DequantizeLinear(%q, %w_scale_y, %w_zero_y)\n"
     "%p = MaxPool(%d) {kernel_shape=[2,2], strides=[2,2]}\n%t = Transpose(%p) {perm=[0,2,3,1]}\n"
     "%y = QuantizeLinear(%t, %w_scale_y, %w_zero_y)\noutput %y",
     0.4},
    {"ConcatOfEqualQuantization",
     "input %x : U[1,8,6,6]\ninput %x2 : U[1,5,6,6]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "%a = DequantizeLinear(%x, %w_scale_x, %w_zero_x)\n%b = DequantizeLinear(%x2, %w_scale_x, %w_zero_x)\n"
     "%c = Concat(%a, %b) {axis=1}\n%y = QuantizeLinear(%c, %w_scale_x, %w_zero_x)\noutput %y"},
    {"ProductOfMatrices",
     "input %x : U[2,7,50]\ninput %w : I[50,33]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[33]\ninput %w_zero_w : I[33]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "%xf = DequantizeLinear(%x, %w_scale_x, %w_zero_x)\n%wf = DequantizeLinear(%w, %w_scale_w, %w_zero_w) "
     "{axis=1}\n"
     "%m = MatMul(%xf, %wf)\n%y = QuantizeLinear(%m, %w_scale_y, %w_zero_y)\noutput %y",
     0.5},
    {"ProductByABatchOfMatrices",
     "input %x : U[2,3,7,50]\ninput %w : I[3,50,33]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[]\ninput %w_zero_w : I[]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "%xf = DequantizeLinear(%x, %w_scale_x, %w_zero_x)\n%wf = DequantizeLinear(%w, %w_scale_w, %w_zero_w)\n"
     "%m = MatMul(%xf, %wf)\n%y = QuantizeLinear(%m, %w_scale_y, %w_zero_y)\noutput %y",
     0.5},
    {"ProductOfATransposedMatrix",
     "input %x : U[2,64,9]\ninput %w : I[64,33]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[33]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "%xf = DequantizeLinear(%x, %w_scale_x, %w_zero_x)\n%wf = DequantizeLinear(%w, %w_scale_w) {axis=1}\n"
     "%t = Transpose(%xf) {perm=[0,2,1]}\n%m = MatMul(%t, %wf)\n"
     "%y = QuantizeLinear(%m, %w_scale_y, %w_zero_y)\noutput %y",
     0.5},
    {"GemmOfTransposedWeights",
     "input %x : U[5,66]\ninput %w : I[40,66]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[40]\ninput %w_zero_w : I[40]\ninput %w_bias : f32[40]\n"
     "CONV\n%y = Gemm(%xf, %wf, %w_bias) {transB=1, alpha=0.5, beta=2.0}\noutput %y"},
    {"TransposedConstant",
     "input %x : U[5,66]\ninput %w : I[40,66]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[40]\ninput %w_zero_w : I[40]\n"
     "CONV\n%t = Transpose(%wf) {perm=[1,0]}\n%y = MatMul(%xf, %t)\noutput %y"},
    {"ProductOfComputedMatrices",
     "input %x : U[2,3,9,30]\ninput %b : U[2,3,30,21]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_b : f32[]\ninput %w_zero_b : U[]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "%xf = DequantizeLinear(%x, %w_scale_x, %w_zero_x)\n%bf = DequantizeLinear(%b, %w_scale_b, %w_zero_b)\n"
     "%m = MatMul(%xf, %bf)\n%y = QuantizeLinear(%m, %w_scale_y, %w_zero_y)\noutput %y",
     0.4},
    {"ProductByATransposedMatrix",
     "input %x : U[2,9,8]\ninput %b : U[2,33,8]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_b : f32[]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "%xf = DequantizeLinear(%x, %w_scale_x, %w_zero_x)\n%bf = DequantizeLinear(%b, %w_scale_b)\n"
     "%t = Transpose(%bf) {perm=[0,2,1]}\n%m = MatMul(%xf, %t)\n"
     "%y = QuantizeLinear(%m, %w_scale_y, %w_zero_y)\noutput %y",
     0.4},
    {"QLinearConv",
     "input %x : U[1,10,9,9]\ninput %w : I[12,10,3,3]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[12]\ninput %w_zero_w : I[12]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "input %w_b : i32[12]\n"
     "%y = QLinearConv(%x, %w_scale_x, %w_zero_x, %w, %w_scale_w, %w_zero_w, %w_scale_y, %w_zero_y, %w_b) "
     "{pads=[1,1,1,1]}\noutput %y",
     0.4},
    {"QLinearMatMul",
     "input %x : U[3,4,30]\ninput %w : I[30,20]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\n"
     "input %w_scale_w : f32[]\ninput %w_zero_w : I[]\ninput %w_scale_y : f32[]\ninput %w_zero_y : U[]\n"
     "%y = QLinearMatMul(%x, %w_scale_x, %w_zero_x, %w, %w_scale_w, %w_zero_w, %w_scale_y, "
     "%w_zero_y)\noutput %y",
     0.4},
    {"MatMulInteger",
     "input %x : U[2,6,37]\ninput %w : I[37,18]\ninput %w_zero_x : U[]\ninput %w_zero_w : I[18]\n"
     "%y = MatMulInteger(%x, %w, %w_zero_x, %w_zero_w)\noutput %y"},
    {"MatMulIntegerOfAComputedZero",
     "input %x : U[2,6,37]\ninput %w : I[37,18]\ninput %z : U[]\n%y = MatMulInteger(%x, %w, %z)\noutput %y"},
    {"ConvInteger",
     "input %x : U[1,5,7,6]\ninput %w : I[9,5,3,2]\ninput %w_zero_x : U[]\n"
     "%y = ConvInteger(%x, %w, %w_zero_x) {pads=[1,0,1,1]}\noutput %y"},
    {"DynamicQuantization",
     "input %x : f32[3,40]\ninput %w : I[40,24]\n%q, %s, %z = DynamicQuantizeLinear(%x)\n"
     "%m = MatMulInteger(%q, %w, %z)\n%f = Cast(%m) {to=1}\n%y = Mul(%f, %s)\noutput %y"},
    {"FunctionsAsTables",
     "input %x : U[4,30,33]\ninput %w_scale_x : f32[]\ninput %w_zero_x : U[]\ninput %w_scale_s : f32[]\n"
     "%d = DequantizeLinear(%x, %w_scale_x, %w_zero_x)\n%s = Sigmoid(%d)\n"
     "%q = QuantizeLinear(%s, %w_scale_s, %w_zero_x)\n%e = DequantizeLinear(%q, %w_scale_s, %w_zero_x)\n"
     "%m = Mul(%d, %e)\n%y = QuantizeLinear(%m, %w_scale_x, %w_zero_x)\noutput %y\noutput %q"},
    {"EachIndexOfAnAxis",
     "input %x : f32[3,7,5]\ninput %w_scale_7 : f32[7]\ninput %w_zero_7 : U[7]\n"
     "%q = QuantizeLinear(%x, %w_scale_7, %w_zero_7) {axis=-2}\n"
     "%y = DequantizeLinear(%q, %w_scale_7, %w_zero_7) {axis=1}\noutput %q\noutput %y"},
    {"SixteenBits",
     "input %x : f32[3,70]\ninput %w_scale_x : f32[]\ninput %w_zero_16 : i16[]\n"
     "%q = QuantizeLinear(%x, %w_scale_x, %w_zero_16)\n%y = DequantizeLinear(%q, %w_scale_x, %w_zero_16)\n"
     "output %q\noutput %y"},
};

template <typename T>
void fill(Tensor& tensor, std::mt19937& random, int least, int most) {
  for (T& element : tensor.as<T>())
    element = static_cast<T>(least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1)));
}

/// Fills integers in all of their range.
inline void fill_integers(Tensor& tensor, std::mt19937& random) {
  if (tensor.dtype() == DType::u8) fill<uint8_t>(tensor, random, 0, 255);
  if (tensor.dtype() == DType::i8) fill<int8_t>(tensor, random, -128, 127);
}

inline Result<Graph> make_quantized(const QuantizedCase& one, const char* activations, const char* weights,
                                    std::mt19937& random) {
  Graph graph =
      TRY(make_graph("graph \"case\" opsets {\"\": 21}\n" + with_types(one.text, activations, weights)));
  for (Value& value : graph.values) {
    if (!value.constant) continue;
    fill_integers(*value.constant, random);
    if (value.name.starts_with("w_zero") && value.constant->dtype() == DType::i16)
      fill<int16_t>(*value.constant, random, -300, 300);
    if (value.name == "w_scale_y") value.constant->as<float>()[0] = static_cast<float>(one.y_scale);
  }
  return graph;
}

/// Counts elements that differ by more than `steps`.
template <typename T>
size_t count_beyond(const Tensor& got, const Tensor& want, int steps) {
  size_t count = 0;
  for (size_t i = 0; i < want.as<T>().size(); ++i)
    count += std::abs(int{got.as<T>()[i]} - int{want.as<T>()[i]}) > steps;
  return count;
}

/// Checks that quantized numbers differ by a step at most, and few do: a number half-way between two.
inline void expect_near(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  const auto count = [&](int steps) {
    if (want.dtype() == DType::u8) return count_beyond<uint8_t>(got, want, steps);
    if (want.dtype() == DType::i8) return count_beyond<int8_t>(got, want, steps);
    return count_beyond<int16_t>(got, want, steps);
  };
  const bool is_quantized =
      want.dtype() == DType::u8 || want.dtype() == DType::i8 || want.dtype() == DType::i16;
  if (!is_quantized) {
    EXPECT_EQ(compare(got.view(), want.view(), 1e-4, 1e-5), "");
    return;
  }
  EXPECT_EQ(count(1), 0U);
  EXPECT_LE(count(0), 1 + static_cast<size_t>(element_count(want.shape())) / 100);
}

}  // namespace intarsia::test
