// Parser of a Graph's text form.
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "graph/parse_tensor.h"

namespace intarsia {

/// Reads the output of print_graph (see there), so that parse_graph(print_graph(g)) == g if `resolve` finds
/// the tensors that are printed as digests. A value is defined on a line above those that read it. The text
/// may be untrusted: errors give line and column, memory is proportional to the text, and the graph passes
/// verify_graph.
Result<Graph> parse_graph(std::string_view text, const ConstantResolver& resolve = {});

}  // namespace intarsia
