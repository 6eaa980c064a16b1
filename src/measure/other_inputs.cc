#include "measure/other_inputs.h"

#include <algorithm>
#include <array>
#include <random>

#include "base/fill_tensor.h"

namespace intarsia {
namespace {

constexpr uint64_t other_seed = 1000000, edge_seed = 2000000;
constexpr std::array edges = {0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5,  -2.5,  1.0,   -1.0,
                              3.0, -3.0, 6.0, -6.0, 8.0, -8.0, 1e-3, -1e-3, 1e-20, 0.7};

template <typename T>
void fill_edges(const TensorView& tensor, std::mt19937& random) {
  for (T& element : tensor.as<T>()) element = static_cast<T>(edges[random() % edges.size()]);
}

template <typename T>
void fill_range(const TensorView& tensor, std::mt19937& random) {
  for (T& element : tensor.as<T>()) element = static_cast<T>(random());
}

void fill_with_edges(const TensorView& tensor, uint64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  switch (tensor.dtype) {
    case DType::f32:
      return fill_edges<float>(tensor, random);
    case DType::f64:
      return fill_edges<double>(tensor, random);
    case DType::u8:
      return fill_range<uint8_t>(tensor, random);
    case DType::i8:
      return fill_range<int8_t>(tensor, random);
    case DType::u16:
      return fill_range<uint16_t>(tensor, random);
    case DType::i16:
      return fill_range<int16_t>(tensor, random);
    default:
      static_cast<void>(fill_tensor(tensor, seed));  // strings stay
  }
}

/// Checks for integers that are all 0, which may be indices along an axis of size 1.
bool may_be_bounded(const Tensor& tensor) {
  const auto is_zero = [](int64_t element) { return element == 0; };
  if (tensor.dtype() == DType::i32) return std::ranges::all_of(tensor.as<int32_t>(), is_zero);
  return tensor.dtype() == DType::i64 && std::ranges::all_of(tensor.as<int64_t>(), is_zero);
}

/// Copies the inputs, each filled with a seed of its own.
template <typename Fill>
std::vector<NamedValue> refill(std::span<const NamedValue> inputs, uint64_t seed, Fill fill) {
  std::vector<NamedValue> refilled;
  for (const NamedValue& input : inputs) {
    const Tensor tensor(input.tensor.view());
    if (!may_be_bounded(tensor)) fill(tensor.view(), seed);
    ++seed;
    refilled.push_back({input.name, tensor});
  }
  return refilled;
}

}  // namespace

std::vector<NamedValue> vary_inputs(std::span<const NamedValue> inputs) {
  return refill(inputs, other_seed, [](const TensorView& tensor, uint64_t seed) {
    static_cast<void>(fill_tensor(tensor, seed));  // strings stay
  });
}

std::vector<NamedValue> edge_inputs(std::span<const NamedValue> inputs) {
  return refill(inputs, edge_seed, fill_with_edges);
}

}  // namespace intarsia
