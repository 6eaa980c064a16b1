// Forms of operators that OpenVINO accepts but does not compute as ONNX says.
#pragma once

#include "graph/graph.h"
#include "target/target.h"

namespace intarsia::openvino {

/// Checks a node by attributes, inputs and sizes. The forms were found by comparing random ones of each
/// operator with the reference (OpenVINO 2026.4, tests/conformance/test_openvino_forms.py).
Support check_form(const Graph& graph, const Node& node);

}  // namespace intarsia::openvino
