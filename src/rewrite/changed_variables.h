// Variables of a SavedModel whose values a program cannot hold.
#pragma once

#include "rewrite/effects.h"
#include "rewrite/find_bodies.h"

namespace intarsia {

/// Returns the variables, by their nodes in the model's own graph, that a body changes, or another function
/// that the model's users can call, such as a step of training.
Result<std::set<std::string>> find_changed_variables(const tensorflow::MetaGraph& meta,
                                                     const tensorflow::GraphDef& graph,
                                                     const std::vector<SignatureBody>& bodies,
                                                     EffectFinder& effects);

}  // namespace intarsia
