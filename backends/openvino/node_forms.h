// Forms of operators that OpenVINO accepts and computes otherwise than ONNX says.
#pragma once

#include "graph/graph.h"
#include "target/target.h"

namespace intarsia::openvino {

/// By attributes, inputs and sizes; found by comparing random forms of each operator with the reference
/// (OpenVINO 2026.4, tests/conformance/test_openvino_forms.py).
Support check_form(const Graph& graph, const Node& node);

}  // namespace intarsia::openvino
