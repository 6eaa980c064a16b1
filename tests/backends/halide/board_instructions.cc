// Instructions that kernels execute on emulated boards for each multiply-add: of layers as small networks
// have them, in f32 and in 8 bits. Skipped where compiler or emulator are missing.
//
// Covers: backends/halide/build/ dsp_products.cc
// backends/halide/schedule/ contraction_schedule.cc contraction_tile.cc isa.cc
#include <gtest/gtest.h>

#include <array>

#include "tests/support/halide_support.h"
#include "tests/support/region_on_board.h"

namespace intarsia::test {
namespace {

/// Convolution, with the instructions that each multiply-add may take on each board.
struct Layer {
  const char* name;
  int64_t before, after, taps, group, rows, columns;
  std::array<double, 3> of_f32, of_8_bits;

  int64_t multiply_adds() const { return rows * columns * taps * taps * before / group * after; }
  std::string text(bool quantized) const {
    const std::string sizes = fmt::format("{},{},{}]", before, rows, columns);
    const std::string weights = fmt::format("{},{},{},{}]", after, before / group, taps, taps);
    const std::string how = fmt::format("{{pads=[{0},{0},{0},{0}], group={1}}}\noutput %y", taps / 2, group);
    if (!quantized)
      return fmt::format("input %x : f32[1,{}\ninput %w : f32[{}\n%y = Conv(%x, %w) {}", sizes, weights, how);
    return fmt::format(
        "input %x : u8[1,{}\ninput %w : i8[{}\ninput %w_zero_x : u8[]\ninput %w_scale_x : f32[]\n"
        "const %zero : i8[] = {{0}}\ninput %w_scale_w : f32[]\n"
        "%y = QLinearConv(%x, %w_scale_x, %w_zero_x, %w, %w_scale_w, %zero, %w_scale_x, %w_zero_x) {}",
        sizes, weights, how);
  }
};

constexpr Layer layers[] = {{"3x3, 8 to 16", 8, 16, 3, 1, 16, 16, {3.5, 2.4, 0.9}, {2.2, 2.2, 0.7}},
                            {"1x1, 64 to 64", 64, 64, 1, 1, 25, 5, {3.4, 2.3, 0.8}, {2.0, 2.0, 0.65}},
                            {"depthwise 3x3 of 64", 64, 64, 3, 64, 25, 5, {5.6, 4.6, 2.6}, {4.6, 4.7, 2.7}}};

TEST(BoardInstructions, PerMultiplyAddAreFew) {
  if (!has_boards()) GTEST_SKIP() << "no arm-none-eabi-gcc, newlib, qemu-system-arm or clang-19";
  for (const Layer& layer : layers)
    for (const bool quantized : {false, true}) {
      const auto graph = make_graph("graph \"layer\" opsets {\"\": 21}\n" + layer.text(quantized));
      ASSERT_TRUE(graph) << graph.error().message;
      for (size_t b = 0; b < boards.size(); ++b) {
        CompileOptions options{1, boards[b]};
        const auto region = halide::compile_region(*graph, test_emitter(), options, {});
        ASSERT_TRUE(region) << region.error().message;
        const auto count = count_on_board(boards[b], *graph, *region, random_inputs(*graph));
        ASSERT_TRUE(count) << count.error().message;
        const double each = static_cast<double>(*count) / static_cast<double>(layer.multiply_adds());
        fmt::print("{}, {}, {}: {:.2f} instructions for each multiply-add\n", layer.name,
                   quantized ? "8 bits" : "f32", boards[b], each);
        EXPECT_LT(each, (quantized ? layer.of_8_bits : layer.of_f32)[b]);
      }
    }
}

}  // namespace
}  // namespace intarsia::test
