// Content of a graph that determines how long it takes.
#pragma once

#include <string>

#include "graph/graph.h"

namespace intarsia {

/// Returns the text of print_graph without names: operators with domain and version, attributes, types, sizes
/// and wiring. Values are numbered in the order that the nodes read and make them. Constants of more than 64
/// floats are given by type and shape only, others by their elements. Attributes that only a framework
/// understands (EncodedAttribute) are included unchanged, with their names.
std::string print_content(const Graph& graph);

}  // namespace intarsia
