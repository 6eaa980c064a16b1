#include "base/shape.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

namespace intarsia {

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (__builtin_mul_overflow(count, size, &count)) return std::numeric_limits<int64_t>::max();
  }
  return count;
}

Result<int64_t> checked_elements(const Shape& shape) {
  // Tensors of more elements, of at most 16 bytes, fit no address space; refusing them keeps all sums of
  // bytes in range.
  constexpr int64_t most = std::min<uint64_t>(uint64_t{1} << 48, SIZE_MAX / 32);
  int64_t count = 1;  // product of the nonzero sizes, as strides too must stay in range
  bool has_zero = false;
  for (int64_t size : shape) {
    if (size < 0) return fail("shape {} has a negative size", print_shape(shape));
    has_zero |= size == 0;
    if (size > most || __builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count) || count > most) {
      return fail(ErrorKind::out_of_memory, "shape {} is too large for any memory", print_shape(shape));
    }
  }
  return has_zero ? 0 : count;
}

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::string print_shape(const Shape& shape) {
  if (shape.empty()) return "scalar";
  return fmt::format("{}", fmt::join(shape, "x"));
}

Result<Shape> parse_shape(std::string_view text) {
  Shape shape;
  if (text == "scalar" || text.empty()) return shape;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (true) {
    int64_t size = 0;
    auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0 || (next != end && *next != 'x')) {
      return fail("'{}' is not a shape; want sizes joined by x, as in 1x224x224x3", text);
    }
    shape.push_back(size);
    if (next == end) return shape;
    at = next + 1;
  }
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return fail("shapes {} and {} do not broadcast", print_shape(a), print_shape(b));
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

std::string print_shape(const SymbolicShape& shape) {
  std::string text = "[";
  for (const Dim& dim : shape) {
    if (text.size() > 1) text += ',';
    text += dim.print();
  }
  return text + "]";
}

AxisOrder row_major_order(size_t rank) {
  AxisOrder axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool is_order_of(const AxisOrder& order, size_t rank) {
  return std::ranges::is_permutation(order, row_major_order(rank));
}

SymbolicShape to_symbolic(const Shape& shape) { return {shape.begin(), shape.end()}; }

SymbolicShape row_major_strides(const SymbolicShape& shape) {
  SymbolicShape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Dim product_of_dims(const SymbolicShape& shape, size_t first, size_t last) {
  Dim product = 1;
  for (size_t i = first; i < std::min(last, shape.size()); ++i) product = product * shape[i];
  return product;
}

std::optional<Shape> static_shape(const SymbolicShape& shape) {
  Shape result;
  for (const Dim& dim : shape) {
    if (!dim.is_number()) return std::nullopt;
    result.push_back(dim.number());
  }
  return result;
}

}  // namespace intarsia
