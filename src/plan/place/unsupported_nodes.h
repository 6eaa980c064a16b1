// Error of a model with nodes that no backend takes.
#pragma once

#include "plan/placement.h"

namespace intarsia {

/// Returns the error for nodes whose target in `placement` is `no_target`. The operators that lack a backend
/// come first, in the order of the model: "Foo (3 nodes, first 'a/b': reference: no kernel; onnxruntime:
/// ...)". Nodes that may be refused only because the types of what such operators make are not known are
/// counted after them. `remedy` is the last sentence.
tl::unexpected<Error> unsupported_error(const Graph& graph, const Placement& placement,
                                        const std::string& remedy);

}  // namespace intarsia
