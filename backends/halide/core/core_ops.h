// Core operators of the canonical graph: a table row each, with what the steps after canonicalization must
// know.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace intarsia::halide {

/// Form of a kernel; decides how it is fused, built and scheduled.
enum class Form {
  elementwise,  // output element i depends on the (broadcast) input elements i
  movement,     // output element i is one input element, at a computed place
  view,         // view of the same bytes with other sizes and strides, whenever strides allow
  concat,       // inputs are written straight into the output
  contraction,  // multiply-add over channels and taps
  window,       // reads a small neighborhood of each output element
  reduction,    // reduction over some axes, which stay with size 1
  scan,         // sums or products in which each element depends on the one before it
  scatter,      // updates elements at places that an input names
  routine,      // calls a function of routines/
  attention,    // products with a softmax between them
  recurrence,   // kernel of one time step, which reads the state that the step before it wrote
};

std::string_view name_of(Form form);

/// Core operator; one with the name of an ONNX operator does the same. core_attributes.h has the parameters.
enum class CoreOp : uint8_t {
  // views
  reshape,
  transpose,
  slice,
  expand,
  // movement
  concat,
  copy,
  pad,
  tile,
  gather,
  gather_elements,
  gather_nd,
  trilu,
  one_hot,
  reverse_sequence,
  sequence_mask,
  interpolate,
  resize_places,
  resize_weights,
  elements,
  range,
  tensor_scatter,
  grid_sample,
  deform_sample,
  // anchors
  conv,
  matmul,
  max_pool,
  average_pool,
  lrn,
  cum_sum,
  cum_prod,
  scatter_elements,
  scatter_nd,
  fold,
  top_k,
  roi_align,
  max_roi_pool,
  max_unpool,
  tree_ensemble,
  non_zero,
  compress,
  unique,
  non_max_suppression,
  random,
  lstm,
  gru,
  rnn,
  // reductions
  reduce_sum,
  reduce_mean,
  reduce_max,
  reduce_min,
  reduce_prod,
  arg_max,
  arg_min,
  // elementwise
  add,
  sub,
  mul,
  div,
  mod,
  max,
  min,
  pow,
  logical_and,
  logical_or,
  logical_xor,
  logical_not,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  bitwise_not,
  bit_shift,
  equal,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
  where,
  cast,
  bit_cast,    // the same bits as another type of as many
  quantize,    // integers of (x, scale, zero): x / scale rounded to even, plus zero, saturated
  dequantize,  // numbers of (integers, scale, zero): scale * (integers - zero)
  abs,
  neg,
  sign,
  relu,
  sqrt,
  reciprocal,
  floor,
  ceil,
  round,
  is_nan,
  is_inf,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  softsign,
  leaky_relu,
  thresholded_relu,
  hard_sigmoid,
  hard_swish,
  shrink,
  exp,
  log,
  tanh,
  erf,
  sigmoid,
  softplus,
  mish,
  gelu,
  elu,
  celu,
  selu,
};
inline constexpr size_t core_op_count = static_cast<size_t>(CoreOp::selu) + 1;

/// Returns the name in the text of a graph: "Conv".
std::string_view name_of(CoreOp op);
std::optional<CoreOp> find_core_op(std::string_view name);

/// Returns the operator of a node of a canonical graph, which has only core operators.
CoreOp op_of(const Node& node);

Form form_of(CoreOp op);
inline Form form_of(const Node& node) { return form_of(op_of(node)); }

/// Checks whether a graph of core operators computes in f64: values of that type, or tables of a Resize.
bool computes_in_f64(const Graph& graph);

/// Returns the sizes of a value in a canonical graph.
inline const SymbolicShape& sizes_of(const Graph& graph, ValueId value) {
  return *graph.value(value).type.shape;
}
/// Returns the sizes that code is generated for, which are numbers.
inline Shape fixed_sizes(const SymbolicShape& sizes) {
  std::optional<Shape> fixed = static_shape(sizes);
  INTARSIA_CHECK(fixed.has_value());
  return *std::move(fixed);
}
inline Shape shape_of(const Graph& graph, ValueId value) { return fixed_sizes(sizes_of(graph, value)); }

/// Size of an open axis for which schedules are chosen; code is right for all sizes.
inline constexpr int64_t typical_size = 128;
/// Returns the number that an expression is with these open sizes; 0 where it divides by 0, as the size that
/// a Reshape infers beside an empty axis does.
int64_t evaluate(const Dim& size, const std::map<std::string, Dim>& open_sizes);
/// Returns the number that it is where all open sizes are `open_size`.
int64_t evaluate(const Dim& size, int64_t open_size);
/// Returns the number for typical sizes; an axis that would be empty then has one element.
inline int64_t typical(const Dim& size) {
  return size.is_number() ? size.number() : std::max<int64_t>(evaluate(size, typical_size), 1);
}
Shape typical_shape(const SymbolicShape& sizes);

/// Returns the number in a tensor of one element, if its dtype is bool, an integer, f16, bf16, f32
/// or f64.
std::optional<double> read_scalar(const Tensor& tensor);

/// Checks whether all numbers are `wanted`: strides, dilations, pads that do nothing.
bool all_are(const std::vector<int64_t>& numbers, int64_t wanted);
bool all_are(const SymbolicShape& sizes, int64_t wanted);

}  // namespace intarsia::halide
