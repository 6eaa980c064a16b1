// Helpers that shape rules share. An unknown rank or size always gives an unknown one.
#pragma once

#include "graph/op_table.h"

namespace intarsia {

using OptionalShape = std::optional<SymbolicShape>;  // nullopt if the rank is unknown

/// Returns the shape of an input, nullopt if its rank is unknown.
OptionalShape input_shape(const ShapeContext& context, size_t input);

/// Gives output 0 the dtype of input 0 and this shape.
Status set_shape(ShapeContext& context, OptionalShape shape);

/// Gives all outputs the dtype and shape of input 0.
Status same_as_input(ShapeContext& context);

/// Gives all outputs the dtype of input 0 and the shape to which all inputs broadcast.
Status broadcast_inputs(ShapeContext& context);
/// Gives all outputs dtype bool and the shape to which all inputs broadcast, for comparisons.
Status broadcast_inputs_to_bool(ShapeContext& context);

/// Broadcasts two sizes. Equal expressions stay; 1 gives the other size; a number other than 1 wins over a
/// size that is not a number.
Result<Dim> broadcast_dim(const Dim& a, const Dim& b);
Result<SymbolicShape> broadcast_symbolic(const SymbolicShape& a, const SymbolicShape& b);
/// Returns the shape to which the present ones of inputs `first` ... `last` - 1 broadcast.
Result<OptionalShape> broadcast_shape_of(const ShapeContext& context, size_t first, size_t last);

/// Merges two sources of a size: a number wins over an expression, an expression over an unknown size; two
/// different numbers fail.
Result<Dim> merge_dim(const Dim& a, const Dim& b);
/// Fails if both are numbers and differ.
Status require_same_dim(const Dim& a, const Dim& b, std::string_view what);
/// Fails if the input's rank is known and below `least` or (unless -1) above `most`.
Status require_rank(const ShapeContext& context, size_t input, int64_t least, int64_t most = -1);

/// Returns `rank` unknown sizes.
SymbolicShape unknown_dims(size_t rank);

/// Returns the axis, counted from the end if negative, as 0 ... rank - 1.
Result<int64_t> normalize_axis(int64_t axis, size_t rank);
/// Normalizes a list of axes, in the given order; no axis may occur twice.
Result<std::vector<int64_t>> normalize_axes(std::vector<int64_t> axes, size_t rank);

/// A list of integers (axes, pads, ...) given as input `input` or, in other opset versions, as attribute
/// `name`.
struct IntsArgument {
  bool given = false;                          // whether an attribute or input gives it
  std::optional<std::vector<int64_t>> values;  // nullopt if unknown at compile time
};
IntsArgument ints_argument(const ShapeContext& context, std::string_view name, size_t input);

/// The same for a list of sizes, of which some may be expressions or unknown.
struct SizesArgument {
  bool given = false;
  std::optional<std::vector<Dim>> values;
};
SizesArgument sizes_argument(const ShapeContext& context, std::string_view name, size_t input);

/// Axes of input 0, first ... last - 1, whose sizes Shape returns.
struct AxisRange {
  size_t first = 0, last = 0;
};
AxisRange axes_of_shape(const ShapeContext& context, size_t rank);

/// Returns a scalar integer input (or one of one element), if known.
std::optional<int64_t> known_int(const ShapeContext& context, size_t input);

/// Returns the shape whose sizes are the elements of input `input`, a 1-D integer tensor: as far as they are
/// known, else as many unknown sizes as the input is long, else of unknown rank.
Result<OptionalShape> shape_from_input(const ShapeContext& context, size_t input);

/// Returns an attribute that names an ONNX dtype by its number (`to`, `dtype`), or `otherwise` if absent.
Result<DType> dtype_attribute(const ShapeContext& context, std::string_view name, DType otherwise);

}  // namespace intarsia
