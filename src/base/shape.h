// Shapes. `Shape` (run time) is a list of numbers; `SymbolicShape` (compile time) may have expressions over
// named sizes and, for data-dependent sizes, unknowns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dim.h"
#include "base/result.h"

namespace intarsia {

using Shape = std::vector<int64_t>;

/// Returns the number of elements: 1 for a scalar, the largest int64_t on overflow (see `checked_elements`
/// for untrusted sizes).
int64_t element_count(const Shape& shape);

/// Returns the number of elements. Errors: a size is negative, or the product is too large (absurd sizes in a
/// file).
Result<int64_t> checked_elements(const Shape& shape);

/// Returns the elements between neighbors along each axis of a dense row-major tensor.
Shape row_major_strides(const Shape& shape);

/// Prints a shape as "1x3x224x224"; "scalar" for rank 0.
std::string print_shape(const Shape& shape);
Result<Shape> parse_shape(std::string_view text);

/// Returns the shape after NumPy-style broadcasting, or an error that shows both shapes.
Result<Shape> broadcast_shapes(const Shape& a, const Shape& b);

/// Axes of a tensor from the outermost to the innermost in memory.
using AxisOrder = std::vector<size_t>;
/// Returns the order of row-major tensors: 0, 1, 2.
AxisOrder row_major_order(size_t rank);
bool is_order_of(const AxisOrder& order, size_t rank);

using SymbolicShape = std::vector<Dim>;

std::string print_shape(const SymbolicShape& shape);  // "[batch,2*seq+1,?,224]"
SymbolicShape to_symbolic(const Shape& shape);
/// Returns all sizes as numbers, or nullopt if one of them is not a number.
std::optional<Shape> static_shape(const SymbolicShape& shape);
/// Returns the elements between neighbors along each axis of a dense row-major tensor.
SymbolicShape row_major_strides(const SymbolicShape& shape);
/// Returns the product of the sizes of axes first ... last - 1.
Dim product_of_dims(const SymbolicShape& shape, size_t first, size_t last);

}  // namespace intarsia
