// What of a graph determines how long it takes.
#pragma once

#include <string>

#include "graph/graph.h"

namespace intarsia {

/// The text of print_graph without names: operators with domain and version, attributes, types, sizes and
/// wiring. Values are numbered as the nodes, in order, read and make them. Of a constant of more than 64
/// floats only type and shape are in it, of others the elements. What only a framework understands
/// (EncodedAttribute) is in it as it is, with its names.
std::string print_content(const Graph& graph);

}  // namespace intarsia
