// Products by constants of 4 and 8 bits, whose kernels dequantize them: in blocks or columns, with and
// without zero points, of sizes that nothing divides evenly, for few, many and an open number of rows,
// against the reference kernels, between guard pages.
//
// Covers: backends/halide/build/ build_contraction.cc schedule_contraction.cc
// backends/halide/canonicalize/ few_bits.cc quantized_constants.cc rewrite_on_integers.cc
// backends/halide/core/ core_attributes.cc
// backends/halide/memory/ pack_weights.cc
// backends/halide/tune/ choose_schedules.cc
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/compile_region.h"
#include "tests/backends/halide/device_runners.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"
#include "tests/support/test_team.h"

namespace intarsia::test {
namespace {

struct FewBitsCase {
  const char* name;
  const char* dtype;
  int64_t depth, columns, block;  // block: 0 for a scale of each column
  bool is_across = false;         // the depth is the last axis, and a Transpose follows
  bool has_zeros = true;
  const char* numbers = "f32";  // type of all numbers
  bool is_gemm = false;         // a Gemm, with a bias, instead of a MatMul
};

void PrintTo(const FewBitsCase& one, std::ostream* to) { *to << one.name; }

constexpr FewBitsCase few_bits_cases[] = {
    {"BlocksOf16", "u4", 64, 48, 16, true},
    {"BlocksOf32WithoutZeros", "u4", 96, 33, 32, true, false},
    {"BlocksOf128", "u4", 256, 70, 128, true},
    {"DepthThatIsNoMultiple", "u4", 77, 33, 16, true},
    {"OddDepth", "i4", 45, 17, 32, true},
    {"OneBlock", "u4", 20, 24, 32, true},
    {"SignedBlocks", "i4", 64, 40, 32, false, false},
    {"DepthFirst", "u4", 66, 31, 32},
    {"OddDepthFirst", "i4", 67, 64, 16},
    {"Columns", "i4", 50, 33, 0},
    {"OddDepthOfColumns", "u4", 51, 29, 0, true},
    {"BytesInBlocks", "u8", 70, 45, 32, true},
    {"SignedBytesInBlocks", "i8", 64, 32, 16},
    {"BlocksOf12Bytes", "u8", 40, 21, 12},
    {"BytesOfColumns", "i8", 60, 50, 0, false, false},
    {"BytesOfColumnsAcross", "u8", 61, 35, 0, true},
    {"OneColumn", "u4", 64, 1, 32, true},
    {"Gemm", "u4", 64, 37, 32, true, true, "f32", true},
    {"HalfScales", "u4", 96, 35, 32, true, true, "f16"},
    {"HalfScalesOfBytes", "i8", 61, 35, 0, false, true, "f16"},
    {"GemmOfBf16", "i4", 64, 24, 16, true, false, "bf16", true},
};

/// Returns the graph of a case with a number of rows, or a name for it.
std::string text_of(const FewBitsCase& c, const std::string& rows) {
  const int64_t blocks = c.block == 0 ? 1 : (c.depth + c.block - 1) / c.block;
  const auto matrix = [&](int64_t steps) {
    return c.is_across ? fmt::format("[{},{}]", c.columns, steps) : fmt::format("[{},{}]", steps, c.columns);
  };
  const std::string scales = c.block == 0 ? fmt::format("[{}]", c.columns) : matrix(blocks);
  const int axis = c.is_across == (c.block == 0) ? 0 : 1;
  std::string text =
      fmt::format("graph \"g\" opsets {{\"\": 21}}\ninput %x : {}[{},{}]\n", c.numbers, rows, c.depth);
  text +=
      fmt::format("input %w : {}{}\ninput %w_scale : {}{}\n", c.dtype, matrix(c.depth), c.numbers, scales);
  if (c.has_zeros) text += fmt::format("input %w_zero : {}{}\n", c.dtype, scales);
  if (c.is_gemm) text += fmt::format("input %w_bias : {}[{}]\n", c.numbers, c.columns);
  text += fmt::format("%d = DequantizeLinear(%w, %w_scale{}) {{axis={}{}}}\n", c.has_zeros ? ", %w_zero" : "",
                      axis, c.block == 0 ? "" : fmt::format(", block_size={}", c.block));
  if (c.is_gemm)
    text +=
        fmt::format("%y = Gemm(%x, %d, %w_bias) {{alpha=0.5, beta=2.0, transB={}}}\n", c.is_across ? 1 : 0);
  else
    text += c.is_across ? "%t = Transpose(%d) {perm=[1,0]}\n%y = MatMul(%x, %t)\n" : "%y = MatMul(%x, %d)\n";
  return text + "output %y\n";
}

/// Makes a graph whose constants of 8 bits have all values that these have.
Result<Graph> make_few_bits(const std::string& text) {
  Graph graph = TRY(make_graph(text));
  uint32_t number = 1;
  for (Value& value : graph.values) {
    const bool is_byte = value.type.dtype == DType::u8 || value.type.dtype == DType::i8;
    if (!value.constant || !is_byte) continue;
    std::mt19937 random(++number);
    for (uint8_t& byte : std::span(static_cast<uint8_t*>(value.constant->data()), value.constant->bytes()))
      byte = static_cast<uint8_t>(random());
  }
  return graph;
}

class FewBits : public testing::TestWithParam<FewBitsCase> {
 protected:
  double tolerance() const {
    const std::string numbers = GetParam().numbers;
    return numbers == "f32" ? 1e-5 : numbers == "f16" ? 4e-3 : 3e-2;
  }

  void expect_right(const LoadedRegion& region, int64_t rows, ThreadTeam* team, const OpenSizes& sizes = {}) {
    SCOPED_TRACE(fmt::format("{} rows", rows));
    const auto fixed = make_few_bits(text_of(GetParam(), std::to_string(rows)));
    ASSERT_TRUE(fixed) << fixed.error().message;
    const std::vector<Tensor> inputs = random_inputs(*fixed);
    const auto want = run_reference(*fixed, inputs);
    ASSERT_TRUE(want) << want.error().message;
    for (const bool at_end : {true, false}) {
      const auto got = region.run_guarded(inputs, at_end, {{rows, GetParam().columns}}, team, sizes);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view(), tolerance(), tolerance()), "");
    }
  }
};

TEST_P(FewBits, AgreeWithReference) {
  const bool is_first = form_of(GetParam().name) == 0;
  for (const int64_t rows : {1, 3, 5, 38}) {
    if (rounds() == 1 && is_first != (rows == 3 || rows == 38)) continue;
    const int threads = rows % 2 == 0 ? 2 : 1;
    const char* level = rows == 3 ? "x86-64-v3" : rows == 5 ? "x86-64-v2" : "native";
    const auto graph = make_few_bits(text_of(GetParam(), std::to_string(rows)));
    ASSERT_TRUE(graph) << graph.error().message;
    CostTable costs("");
    Tuner tuner = random_tuner(costs, static_cast<uint32_t>(rows));
    CompileOptions options{threads, level, {}};
    if (threads == 2) options.tuner = &tuner;
    const auto region = LoadedRegion::make(*graph, options, {});
    ASSERT_TRUE(region) << region.error().message;
    TestTeam team(threads);
    expect_right(**region, rows, &team);
  }
}

TEST_P(FewBits, AgreeWithReferenceForAnOpenNumberOfRows) {
  if (rounds() == 1 && form_of(GetParam().name) == 1 && GetParam().numbers == std::string("f32")) return;
  const auto graph = make_few_bits(text_of(GetParam(), "rows"));
  ASSERT_TRUE(graph) << graph.error().message;
  const int threads = GetParam().depth % 2 == 0 ? 2 : 1;
  const auto region = LoadedRegion::make(*graph, {threads, "native", {}}, {});
  ASSERT_TRUE(region) << region.error().message;
  TestTeam team(threads);
  const std::string names[] = {"rows"};
  for (const int64_t rows : {1, 2, 4, 5, 13, 14, 29, 130}) {
    const int64_t sizes[] = {rows};
    expect_right(**region, rows, &team, {names, sizes});
  }
}

TEST_P(FewBits, AgreeWithReferenceOnDevices) {
  const bool is_first = form_of(GetParam().name) == 0;
  if (GetParam().numbers != std::string("f32") || (!is_first && rounds() == 1)) return;
  const auto graph = make_few_bits(text_of(GetParam(), "9"));
  ASSERT_TRUE(graph) << graph.error().message;
  const std::vector<Tensor> inputs = random_inputs(*graph);
  const auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;
  for (const Runner& runner : find_runners(GetParam().name)) {
    SCOPED_TRACE(describe(runner));
    const auto loaded = LoadedRegion::make(*graph, {1, "native", {}}, {}, runner.device, runner.kernels);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto got = (*loaded)->run_on_device(inputs);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(compare((*got)[0].view(), (*want)[0].view(), tolerance(), tolerance()), "");
  }
}

/// Checks that constants take the bits of the model's, but for panels that are filled up and a byte for each
/// zero point.
TEST_P(FewBits, StayInTheProgram) {
  const FewBitsCase& c = GetParam();
  const auto graph = make_few_bits(text_of(c, "3"));
  ASSERT_TRUE(graph) << graph.error().message;
  const auto region = halide::compile_region(*graph, test_emitter(), {1, "native", {}}, {});
  ASSERT_TRUE(region) << region.error().message;
  size_t bytes = 0;
  for (const Tensor& constant : region->constants) bytes += constant.bytes();
  const int64_t bits = c.dtype[1] - '0', block = c.block == 0 ? (c.depth + 7) / 8 * 8 : c.block;
  const int64_t blocks = (c.depth + block - 1) / block;
  const int64_t of_scales = c.columns * blocks * 5, of_bias = c.columns * 4;
  EXPECT_LE(bytes, static_cast<size_t>(blocks * block * c.columns * bits / 8 + of_scales + of_bias));
}

INSTANTIATE_TEST_SUITE_P(Cases, FewBits, testing::ValuesIn(few_bits_cases),
                         [](const auto& info) { return std::string(info.param.name); });

/// Compiles a graph, runs it between guard pages, and compares its outputs with the reference.
void expect_as_reference(const std::string& text) {
  SCOPED_TRACE(text);
  const auto graph = make_graph("graph \"g\" opsets {\"\": 21}\n" + text);
  ASSERT_TRUE(graph) << graph.error().message;
  const std::vector<Tensor> inputs = random_inputs(*graph);
  const auto want = run_reference(*graph, inputs);
  ASSERT_TRUE(want) << want.error().message;
  const auto region = LoadedRegion::make(*graph, {1, "native", {}}, {});
  ASSERT_TRUE(region) << region.error().message;
  const auto got = (*region)->run_guarded(inputs, true);
  ASSERT_TRUE(got) << got.error().message;
  for (size_t i = 0; i < want->size(); ++i)
    EXPECT_EQ(compare((*got)[i].view(), (*want)[i].view(), 1e-5, 1e-5), "") << "output " << i;
}

/// Checks readers that want the numbers: they get them, and products beside them the integers.
TEST(FewBitsOfOtherReaders, AreDequantized) {
  expect_as_reference(R"(input %x : f32[5,24]
input %z : f32[24,6]
input %w : i4[24,6]
input %w_scale : f32[3,6]
input %w_zero : i4[3,6]
%d = DequantizeLinear(%w, %w_scale, %w_zero) {axis=0, block_size=8}
%t = Transpose(%d) {perm=[1,0]}
%m = MatMul(%x, %d)
%s = Add(%z, %d)
%y = MatMul(%m, %t)
output %y
output %s
output %t
)");
}

/// Checks constants that no product takes as they are: odd blocks, a scale for each step along the
/// depth, blocks along the columns, three axes.
TEST(FewBitsOfOtherReaders, ScalesThatNoColumnHasAreDequantized) {
  for (const char* text :
       {"input %w : i8[24,6]\ninput %w_scale : f32[4,6]\n%d = DequantizeLinear(%w, %w_scale) {axis=0, "
        "block_size=7}",
        "input %w : i4[24,6]\ninput %w_scale : f32[24]\n%d = DequantizeLinear(%w, %w_scale) {axis=0}",
        "input %w : u4[24,6]\ninput %w_scale : f32[24,2]\n%d = DequantizeLinear(%w, %w_scale) {axis=1, "
        "block_size=4}",
        "input %w : u4[2,24,6]\ninput %w_scale : f32[2,3,6]\n%d = DequantizeLinear(%w, %w_scale) {axis=1, "
        "block_size=8}"}) {
    expect_as_reference(fmt::format("input %x : f32[2,5,24]\n{}\n%y = MatMul(%x, %d)\noutput %y\n", text));
  }
}

/// Checks first factors of other forms: batches, a vector, what integers of 8 bits stand for, a transposed
/// one.
TEST(FewBitsOfOtherReaders, FactorsHaveAnyForm) {
  for (const char* text :
       {"input %x : f32[2,3,24]\n%y = MatMul(%x, %d)", "input %x : f32[24]\n%y = MatMul(%x, %d)",
        "input %q : u8[7,24]\ninput %w_scale_q : f32[]\n%x = DequantizeLinear(%q, %w_scale_q)\n"
        "%y = MatMul(%x, %d)",
        "input %z : f32[24,5]\n%x = Transpose(%z) {perm=[1,0]}\n%y = MatMul(%x, %d)",
        "input %x : f32[24,5]\n%y = Gemm(%x, %d) {transA=1}"}) {
    expect_as_reference(
        fmt::format("input %w : i4[24,9]\ninput %w_scale : f32[3,9]\n"
                    "%d = DequantizeLinear(%w, %w_scale) {{axis=0, block_size=8}}\n{}\noutput %y\n",
                    text));
  }
}

/// Checks scales for blocks of computed numbers, which no constant holds.
TEST(FewBitsOfOtherReaders, ComputedIntegersHaveBlocks) {
  for (const char* zero : {"", ", %w_zero"})
    expect_as_reference(fmt::format(
        "input %x : f32[2,32,6]\ninput %w_scale : f32[2,4,6]\ninput %w_zero : u8[2,4,6]\n"
        "%q = QuantizeLinear(%x, %w_scale{0}) {{axis=1, block_size=8}}\n"
        "%y = DequantizeLinear(%q, %w_scale{0}) {{axis=-2, block_size=8}}\noutput %q\noutput %y\n",
        zero));
  expect_as_reference(
      "input %q : i16[5,12]\ninput %s : f32[5,3]\n"
      "%y = DequantizeLinear(%q, %s) {axis=1, block_size=4}\noutput %y\n");
}

/// Checks what has no kernel: computed integers of 4 bits, and blocks of which the last is not full.
TEST(FewBitsOfOtherReaders, ComputedIntegersAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"input %x : u4[32,6]\ninput %w_scale : f32[2,6]\n%y = DequantizeLinear(%x, %w_scale) {axis=0, "
       "block_size=16}",
       "DequantizeLinear on u4[32,6] is not supported"},
      {"input %x : u8[30,6]\ninput %w_scale : f32[2,6]\n%y = DequantizeLinear(%x, %w_scale) {axis=0, "
       "block_size=16}",
       "blocks of 16, which do not divide an axis of 30"}};
  for (const auto& [text, because] : cases) {
    const auto graph = make_graph(fmt::format("graph \"g\" opsets {{\"\": 21}}\n{}\noutput %y\n", text));
    ASSERT_TRUE(graph) << graph.error().message;
    const auto canonical = halide::canonicalize(*graph);
    ASSERT_FALSE(canonical);
    EXPECT_NE(canonical.error().message.find(because), std::string::npos) << canonical.error().message;
  }
}

}  // namespace
}  // namespace intarsia::test
