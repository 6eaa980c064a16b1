// Nodes of a body that a name of the model's file stands for.
#pragma once

#include "rewrite/body.h"

namespace intarsia {

/// Finds the nodes that run and are the node `scope`, lie in it ("scope/..."), or are a call of a function of
/// this name: one set for each call that brought such nodes into the body. If the body itself is that
/// function, all its nodes.
std::vector<std::set<std::string>> find_scope(const Body& body, const std::string& scope);

/// Tensors that nodes exchange with the rest of a body, as BodyNode::sources.
struct ExchangedSources {
  std::vector<std::string> inputs;   // in the order in which the nodes read them
  std::vector<std::string> outputs;  // in the order in which the nodes make them
};

/// Finds what the nodes read that others make, and what they make that others read. All nodes of a body take
/// its arguments, and return its results, in their order.
ExchangedSources find_exchanged(const Body& body, const std::set<std::string>& nodes);

}  // namespace intarsia
