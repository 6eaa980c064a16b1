// Rules for nodes that OpenVINO computes as ONNX says. It accepts more: where it has no kernel for the type
// of a node it silently computes in another type (i64 in i32, f64 and f16 in f32, i32 products in f32).
#pragma once

#include "target/target.h"

namespace intarsia::openvino {

/// Checks whether the operator is in one of the forms that tests/conformance compares with the expected
/// values, on types that stay what they are: f32 and bool everywhere, integers where they are only moved or
/// select elements. All shapes are known but for sizes that the inputs determine.
Support computes_exactly(const Graph& graph, const Node& node);

}  // namespace intarsia::openvino
