// Integers of 8 bits on emulated boards are exact: sums of convolutions of random shapes, strides, paddings,
// dilations and groups; numbers that are quantized. Skipped where compiler or emulator are missing.
//
// Covers: backends/halide/build/ build_contraction.cc build_depthwise_words.cc build_elementwise.cc
// dsp_products.cc thumb_code.cc
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/halide_support.h"
#include "tests/support/region_on_board.h"
#include "tests/support/rounds.h"

namespace intarsia::test {
namespace {

class RandomLayer {
 public:
  explicit RandomLayer(uint32_t seed) : random_(seed) {}

  /// Returns a depthwise convolution, or one of up to 40 channels in one or two groups.
  std::string text(bool is_depthwise) {
    const int64_t axes = choose(1, is_depthwise ? 3 : 2);
    const int64_t group = is_depthwise ? choose(1, 9) : choose(1, 2),
                  depth = is_depthwise ? 1 : choose(2, 40);
    Shape before{choose(1, 2), group * depth}, weights{group * (is_depthwise ? 1 : choose(1, 11)), depth};
    Shape strides, dilations, pads;
    for (int64_t axis = 0; axis < axes; ++axis) {
      weights.push_back(choose(1, is_depthwise && axis + 1 == axes ? 7 : 3));
      strides.push_back(choose(1, 3));
      dilations.push_back(choose(0, 3) == 0 ? 2 : 1);
      before.push_back(dilations.back() * (weights.back() - 1) + choose(1, 12));
    }
    for (int64_t i = 0; i < 2 * axes; ++i) pads.push_back(choose(0, 2));
    return fmt::format(
        "graph \"layer\" opsets {{\"\": 21}}\ninput %x : u8[{}]\ninput %w : i8[{}]\ninput %w_zero : u8[]\n"
        "%y = ConvInteger(%x, %w, %w_zero) {{group={}, strides=[{}], dilations=[{}], pads=[{}]}}\noutput %y",
        fmt::join(before, ","), fmt::join(weights, ","), group, fmt::join(strides, ","),
        fmt::join(dilations, ","), fmt::join(pads, ","));
  }

 private:
  int64_t choose(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  std::mt19937 random_;
};

/// Fills a tensor with the least and the greatest integers, and some between.
void fill_with_ends(Tensor& tensor, std::mt19937& random) {
  for (std::byte& byte : std::span(static_cast<std::byte*>(tensor.data()), tensor.bytes()))
    byte = std::array{std::byte{0}, std::byte{0x7f}, std::byte{0x80}, std::byte{0xff},
                      static_cast<std::byte>(random() % 256)}[random() % 5];
}

/// Returns numbers between -300 and 300 steps, most of them half-way between two, and special ones.
Tensor numbers_to_quantize(float scale, std::mt19937& random) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Tensor numbers(DType::f32, {1500});
  std::uniform_real_distribution<float> steps(-300, 300);
  for (size_t i = 0; i < 1500; ++i) {
    const float any = steps(random);
    numbers.as<float>()[i] = (i % 3 == 0 ? any : std::floor(any) + 0.5F) * scale;
  }
  constexpr std::array special = {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(),
                                  -0.0F,    3e38F,     -3e38F};
  std::ranges::copy(special, numbers.as<float>().begin());
  return numbers;
}

TEST(IntegersOnBoards, NumbersAreQuantizedAsTheReferenceDoes) {
  if (!has_boards()) GTEST_SKIP() << "no arm-none-eabi-gcc, newlib, qemu-system-arm or clang-19";
  const uint32_t seed = std::random_device()();
  std::mt19937 random(seed);
  for (const auto& [dtype, zero] : {std::pair{"u8", 0}, {"u8", 131}, {"i8", -128}, {"i8", 5}, {"i16", -40}})
    for (const char* const board : boards) {
      const float scale = std::exp(std::uniform_real_distribution<float>(-9, 2)(random));
      const std::string text = fmt::format(
          "graph \"g\" opsets {{\"\": 21}}\ninput %x : f32[1500]\nconst %scale : f32[] = {{{:.9g}}}\n"
          "const %zero : {}[] = {{{}}}\n%y = QuantizeLinear(%x, %scale, %zero)\noutput %y",
          scale, dtype, zero);
      SCOPED_TRACE(fmt::format("{}, seed {}\n{}", board, seed, text));
      const auto graph = make_graph(text);
      ASSERT_TRUE(graph) << graph.error().message;
      const std::vector<Tensor> inputs = {numbers_to_quantize(scale, random)};
      const auto region = halide::compile_region(*graph, test_emitter(), {1, board}, {});
      ASSERT_TRUE(region) << region.error().message;
      const auto got = run_on_board(board, *graph, *region, inputs);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(compare(got->outputs[0].view(), run_reference(*graph, inputs).value()[0].view()), "");
    }
}

/// Compares the sums of a random convolution on a board with those of the reference.
void expect_exact_sums(uint32_t seed, bool is_depthwise, const char* board) {
  const std::string text = RandomLayer(seed).text(is_depthwise);
  SCOPED_TRACE(fmt::format("seed {}, {}\n{}", seed, board, text));
  auto graph = make_graph(text);
  ASSERT_TRUE(graph) << graph.error().message;
  std::mt19937 random(seed);
  for (Value& value : graph->values)
    if (value.constant) fill_with_ends(*value.constant, random);
  std::vector<Tensor> inputs = random_inputs(*graph);
  for (Tensor& input : inputs) fill_with_ends(input, random);
  const auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;
  const auto region = halide::compile_region(*graph, test_emitter(), {1, board}, {});
  ASSERT_TRUE(region) << region.error().message;
  const auto got = run_on_board(board, *graph, *region, inputs);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(compare(got->outputs[0].view(), (*want)[0].view()), "");
}

TEST(IntegersOnBoards, SumsAreExact) {
  if (!has_boards()) GTEST_SKIP() << "no arm-none-eabi-gcc, newlib, qemu-system-arm or clang-19";
  const uint32_t first = std::random_device()();
  for (uint32_t i = 0; i < 24 * rounds(); ++i)
    expect_exact_sums(first + i, i % 2 == 0, boards[i / 2 % boards.size()]);
}

}  // namespace
}  // namespace intarsia::test
