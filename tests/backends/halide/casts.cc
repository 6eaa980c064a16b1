// Chains of casts in one kernel of the halide backend: they give the results of the reference kernels, bit
// for bit, also for numbers that a type on the way cannot hold.
//
// Covers: backends/halide/build/ convert.cc
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "backends/halide/core/half_floats.h"
#include "tests/support/halide_support.h"
#include "tests/support/rounds.h"

namespace intarsia::test {
namespace {

constexpr auto dtypes =
    std::to_array({DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8, DType::u8, DType::i16,
                   DType::u16, DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean});
constexpr int64_t count = 203;  // covers vectors of every length, and a tail

/// Returns limits of the integers, their neighbors, and numbers that are rounded twice on the way to f32.
std::vector<double> edges() {
  std::vector<double> numbers{0.0,   -0.0,   0.5,  -0.5,  0.99, -0.99, 1e-40,
                              300.7, -300.7, 1e10, -1e10, 1e30, -1e300};
  for (int bits : {7, 8, 15, 16, 31, 32, 63, 64}) {
    const double limit = std::ldexp(1.0, bits);
    for (double number : {limit, limit - 1, limit + 1, limit - 0.5, std::nextafter(limit, 0.0),
                          static_cast<double>(std::nextafter(static_cast<float>(limit), 0.0F)), limit * 1.5})
      numbers.insert(numbers.end(), {number, -number});
  }
  // Middles of two numbers of 16 bits, and numbers next to them that f32 does not have.
  for (double middle : {1 + std::ldexp(1.0, -11), 1 + std::ldexp(3.0, -11), 1 + std::ldexp(1.0, -8), 65520.0,
                        std::ldexp(1.0, 128) - std::ldexp(1.0, 119), std::ldexp(1.5, -24)})
    for (double number : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e300)})
      numbers.insert(numbers.end(), {number, -number});
  for (double number : {std::numeric_limits<double>::infinity(), std::ldexp(1.0, 128),
                        std::ldexp(1.0, 128) - std::ldexp(1.0, 103),
                        std::nextafter(std::ldexp(1.0, 128) - std::ldexp(1.0, 103), 0.0)})
    numbers.insert(numbers.end(), {number, -number});
  numbers.push_back(std::numeric_limits<double>::quiet_NaN());
  return numbers;
}

template <typename T>
void fill(std::span<T> to, std::mt19937_64& random) {
  const std::vector<double> numbers = edges();
  for (T& element : to) {
    if constexpr (std::is_floating_point_v<T>) {
      element = static_cast<T>(numbers[random() % numbers.size()]);
    } else {
      const uint64_t bit = random() % 64, lowest = random() % 2;
      // The element lies next to a limit, or next to the middle between two floats.
      const uint64_t limit = (random() % 2 ? ~uint64_t{0} : 0) << bit ^ uint64_t{1} << random() % 64;
      const uint64_t middle = uint64_t{1} << bit | (bit < 24 ? 0 : uint64_t{1} << (bit - 24));
      element = static_cast<T>((random() % 2 ? limit : middle) ^ lowest);
    }
  }
}

Tensor edge_numbers(DType dtype, std::mt19937_64& random) {
  Tensor tensor(dtype, {count});
  switch (dtype) {
    case DType::f32:
      fill(tensor.as<float>(), random);
      break;
    case DType::f64:
      fill(tensor.as<double>(), random);
      break;
    case DType::boolean:
      for (uint8_t& element : std::span(static_cast<uint8_t*>(tensor.data()), count)) element = random() % 2;
      break;
    default: {
      // The lowest bytes of these 64-bit numbers are such edge numbers of narrower types.
      std::vector<uint64_t> wide(count);
      fill(std::span(wide), random);
      const size_t bytes = tensor.bytes() / count;
      for (size_t i = 0; i < wide.size(); ++i)
        std::memcpy(static_cast<std::byte*>(tensor.data()) + i * bytes, &wide[i], bytes);
    }
  }
  return tensor;
}

/// Describes the first element that differs; NaN equals NaN.
std::string difference(const Tensor& got, const Tensor& want) {
  const size_t bytes = want.bytes() / count;
  for (size_t i = 0; i < count; ++i) {
    if (want.dtype() == DType::f32 && std::isnan(got.as<float>()[i]) && std::isnan(want.as<float>()[i]))
      continue;
    if (want.dtype() == DType::f64 && std::isnan(got.as<double>()[i]) && std::isnan(want.as<double>()[i]))
      continue;
    const auto is_half_nan = [&](const Tensor& tensor) {
      return std::isnan(halide::read_half_float(tensor.dtype(), tensor.as<uint16_t>()[i]));
    };
    if (halide::is_half_float(want.dtype()) && is_half_nan(got) && is_half_nan(want)) continue;
    const auto at = [&](const Tensor& tensor) {
      return static_cast<const uint8_t*>(tensor.data()) + i * bytes;
    };
    if (std::memcmp(at(got), at(want), bytes) == 0) continue;
    uint64_t got_bits = 0, want_bits = 0;
    std::memcpy(&got_bits, at(got), bytes), std::memcpy(&want_bits, at(want), bytes);
    return fmt::format("element {} has bits {:#x}, want {:#x}", i, got_bits, want_bits);
  }
  return {};
}

/// Chains of casts of one input, each of them a kernel.
struct Chains {
  std::string text;
  DType from;
  std::vector<std::string> names = {};
  int casts = 0;

  explicit Chains(DType from)
      : text(
            fmt::format("graph \"casts\" opsets {{\"\": 21}}\ninput %x : {}[{}]\n", dtype_name(from), count)),
        from(from) {}

  void add(const std::vector<DType>& chain) {
    std::string value = "x", name{dtype_name(from)};
    for (DType to : chain) {
      const std::string made = fmt::format("c{}", casts++);
      text += fmt::format("%{} = Cast(%{}) {{to={}}}\n", made, value, static_cast<int>(to));
      value = made, name += fmt::format(" {}", dtype_name(to));
    }
    text += fmt::format("output %{}\n", value);
    names.push_back(name);
  }
};

void expect_as_reference(const Chains& chains, std::span<const char* const> levels, uint64_t seed) {
  std::mt19937_64 random(seed);
  const Tensor x = edge_numbers(chains.from, random);
  Result<Graph> graph = make_graph(chains.text);
  ASSERT_TRUE(graph) << graph.error().message;
  const auto want = run_reference(*graph, {x});
  ASSERT_TRUE(want) << want.error().message;
  for (const char* level : levels) {
    const auto loaded = LoadedRegion::make(*graph, {1, level, {}}, {});
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto got = (*loaded)->run({x}, nullptr);
    ASSERT_TRUE(got) << got.error().message;
    for (size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(difference((*got)[i], (*want)[i]), "")
          << chains.names[i] << " for " << level << ", seed " << seed;
  }
}

/// Checks each pair of types at one place of the chain at least; with more rounds, every chain.
TEST(HalideCasts, ChainsOfTwoAgreeWithReference) {
  const char* const levels[] = {"native"};
  for (size_t from = 0; from < dtypes.size(); ++from) {
    Chains chains(dtypes[from]);
    for (size_t middle = 0; middle < dtypes.size(); ++middle)
      for (size_t to = 0; to < dtypes.size(); ++to)
        if (rounds() > 1 || (from + middle + to) % 3 == 0) chains.add({dtypes[middle], dtypes[to]});
    expect_as_reference(chains, levels, from);
  }
}

TEST(HalideCasts, RandomChainsAgreeWithReference) {
  const char* const levels[] = {"native", "x86-64-v3", "x86-64-v2"};
  for (uint64_t seed = 0; seed < 11 * rounds(); ++seed) {
    std::mt19937_64 random(seed);
    Chains chains(dtypes[seed % dtypes.size()]);
    for (int i = 0; i < 16; ++i) {
      std::vector<DType> chain(1 + random() % 4);
      for (DType& to : chain) to = dtypes[random() % dtypes.size()];
      chains.add(chain);
    }
    expect_as_reference(chains, levels, seed);
  }
}

/// Checks what users see: negative numbers become large, and numbers that are too large wrap.
TEST(HalideCasts, ThroughSignedIntegersWrap) {
  Result<Graph> graph = make_graph(R"(graph "casts" opsets {"": 21}
input %x : f32[5]
%i = Cast(%x) {to=6}
%b = Cast(%i) {to=2}
%l = Cast(%x) {to=7}
%u = Cast(%l) {to=13}
output %b
output %u)");
  ASSERT_TRUE(graph) << graph.error().message;
  Tensor x(DType::f32, {5});
  std::ranges::copy(std::array{-3.7F, 300.0F, -300.0F, 70000.0F, 2.9F}, x.as<float>().begin());
  const auto loaded = LoadedRegion::make(*graph, {1, "native", {}}, {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto got = (*loaded)->run({x}, nullptr);
  ASSERT_TRUE(got) << got.error().message;
  const auto bytes = (*got)[0].as<uint8_t>();
  const auto words = (*got)[1].as<uint64_t>();
  EXPECT_EQ(std::vector(bytes.begin(), bytes.end()), (std::vector<uint8_t>{253, 44, 212, 112, 2}));
  EXPECT_EQ(std::vector(words.begin(), words.end()),
            (std::vector<uint64_t>{uint64_t{0} - 3, 300, uint64_t{0} - 300, 70000, 2}));
}

}  // namespace
}  // namespace intarsia::test
