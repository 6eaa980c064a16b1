// Bodies that the signatures of a SavedModel run.
#pragma once

#include "rewrite/body.h"

namespace intarsia {

struct SignatureBody {
  std::vector<std::string> signatures;  // those that run it
  Body body;
};

/// Finds a body for each signature; several may share one. It is the model's own graph where that computes,
/// as in models of TensorFlow 1, else the function that its outputs come from: not one that merely calls
/// another, unless other nodes call that, too. Arguments that are always the same variable, table or
/// constant, and those that are a signature's inputs, are known as such.
Result<std::vector<SignatureBody>> find_bodies(const tensorflow::MetaGraph& meta,
                                               const tensorflow::GraphDef& graph,
                                               const std::vector<std::string>& signatures,
                                               const CalledFunctions& called);

/// Returns the functions that a node's attributes name.
std::vector<std::string> functions_of(const tensorflow::NodeDef& node);

}  // namespace intarsia
