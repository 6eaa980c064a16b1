// What shape rules share. In all of them an unknown rank or size gives an unknown one.
#pragma once

#include "graph/op_table.h"

namespace intarsia {

using OptionalShape = std::optional<SymbolicShape>;  // absent: the rank is unknown

/// The shape of an input, absent when its rank is unknown.
OptionalShape input_shape(const ShapeContext& context, size_t input);

/// Output 0 has the dtype of input 0 and this shape.
Status set_shape(ShapeContext& context, OptionalShape shape);

/// All outputs have the dtype and shape of input 0.
Status same_as_input(ShapeContext& context);

/// Outputs have the dtype of input 0 and the shape to which all inputs broadcast.
Status broadcast_inputs(ShapeContext& context);
/// The same with dtype bool, for comparisons.
Status broadcast_inputs_to_bool(ShapeContext& context);

/// Equal expressions stay; 1 gives the other size; a number above 1 wins over what is not a number.
Result<Dim> broadcast_dim(const Dim& a, const Dim& b);
Result<SymbolicShape> broadcast_symbolic(const SymbolicShape& a, const SymbolicShape& b);
/// The shape to which inputs `first` ... `last` - 1 broadcast (those that are there).
Result<OptionalShape> broadcast_shape_of(const ShapeContext& context, size_t first, size_t last);

/// What two sources tell about a size: a number wins over an expression, an expression over nothing; two
/// different numbers fail.
Result<Dim> merge_dim(const Dim& a, const Dim& b);
/// Fails when both are numbers and differ.
Status require_same_dim(const Dim& a, const Dim& b, std::string_view what);
/// Fails when the input's rank is known and below `least` or (unless -1) above `most`.
Status require_rank(const ShapeContext& context, size_t input, int64_t least, int64_t most = -1);

/// `rank` unknown sizes.
SymbolicShape unknown_dims(size_t rank);

/// An axis counted from the end when negative, as 0 ... rank - 1.
Result<int64_t> normalize_axis(int64_t axis, size_t rank);
/// The same for a list, in the given order; no axis may occur twice.
Result<std::vector<int64_t>> normalize_axes(std::vector<int64_t> axes, size_t rank);

/// A list of integers (axes, pads, ...) given as input `input` or, in other opset versions, as attribute
/// `name`.
struct IntsArgument {
  bool given = false;                          // by attribute or input
  std::optional<std::vector<int64_t>> values;  // absent if given but not known at compile time
};
IntsArgument ints_argument(const ShapeContext& context, std::string_view name, size_t input);

/// A scalar integer input (or one of one element), if known.
std::optional<int64_t> constant_int(const ShapeContext& context, size_t input);

/// The shape whose sizes are the elements of input `input`, a 1-D integer tensor: numbers when constant, else
/// as many unknown sizes as the input is long, else of unknown rank.
Result<OptionalShape> shape_from_input(const ShapeContext& context, size_t input);

/// An attribute that names an ONNX dtype by its number (`to`, `dtype`), or `otherwise` when it is absent.
Result<DType> dtype_attribute(const ShapeContext& context, std::string_view name, DType otherwise);

}  // namespace intarsia
