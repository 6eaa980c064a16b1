// The error of a model with nodes that no backend takes.
#pragma once

#include "plan/place_nodes.h"

namespace intarsia {

/// Those without a target in `target` ("none" is `no_target`). The operators that lack a backend come first,
/// in the order of the model: "Foo (3 nodes, first 'a/b': reference: no kernel; onnxruntime: ...)". Nodes
/// that may only be refused because the types of what such operators make are not known are counted after
/// them.
tl::unexpected<Error> unsupported_error(const Graph& graph, const Placement& placement, uint32_t no_target);

}  // namespace intarsia
