// The core operators of the canonical graph: a row each, with what the steps after canonicalizing must know.
#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace intarsia::halide {

/// The form of a kernel; decides how it is fused, built and scheduled.
enum class Form {
  elementwise,  // output element i depends on the (broadcast) input elements i
  movement,     // output element i is one input element, at a computed place
  view,         // the same bytes with other sizes and strides, whenever strides allow
  concat,       // inputs are written straight into the output
  contraction,  // multiply-add over channels and taps
  window,       // a small neighbourhood of each output element
  rows,         // reduction over some axes, which stay with size 1
  scan,         // each element depends on the one before it
  attention,    // two products with a softmax between them
  recurrence,   // a kernel is one time step, which reads the state that the step before it wrote
};

struct CoreOp {
  std::string_view name;
  Form form;
};

const CoreOp* find_core_op(std::string_view name);
/// The form of a node of a canonical graph.
Form form_of(const Node& node);
inline bool is_view_op(std::string_view name) {
  const CoreOp* op = find_core_op(name);
  return op && (op->form == Form::view);
}

/// Of a value in a canonical graph, where every size is a number.
inline Shape shape_of(const Graph& graph, ValueId value) { return *graph.value(value).type.fixed_shape(); }

/// The number in a tensor of one element, where its dtype is bool, an integer, f32 or f64.
std::optional<double> read_scalar(const Tensor& tensor);

/// Strides, dilations, pads that do nothing.
bool all_are(const std::vector<int64_t>& numbers, int64_t wanted);

/// True for the dtypes that kernels compute with.
bool is_supported_dtype(DType dtype);

}  // namespace intarsia::halide
