// Replacing of parts of a body by nodes that run functions of a program.
#pragma once

#include "rewrite/body.h"
#include "rewrite/effects.h"

namespace intarsia {

/// Tensor that a body and a function of a program exchange.
struct ExchangedTensor {
  std::string source;  // as BodyNode::sources
  int32_t data_type = 0;
  std::optional<SymbolicShape> shape;  // only numbers count
};

/// Call of a function of a program, in the order of its inputs and outputs.
struct ProgramCall {
  std::string program;  // tensor with the program, as an input of a node is written
  std::string function;
  std::vector<ExchangedTensor> inputs, outputs;
  int threads = 0;  // attribute of the node
};

/// Adds a node of type Intarsia for each call, lets all nodes that run read its outputs, and removes the
/// nodes that nothing reads any more. Nodes with effects stay, and what they had to wait for: the call waits
/// for nodes that what it replaces waited for, unless they need its outputs; then readers of those wait.
/// Error: the calls and the rest of the body would wait for each other.
Status replace_parts(Body& body, const std::vector<ProgramCall>& calls, EffectFinder& effects);

}  // namespace intarsia
