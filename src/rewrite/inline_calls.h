// Inlining of functions into the body that calls them.
#pragma once

#include "rewrite/body.h"

namespace intarsia {

/// Replaces calls (PartitionedCall, StatefulPartitionedCall) that run by the nodes of the function, as
/// TensorFlow does when it runs them: what the call waited for, nodes at the function's start wait for; what
/// waited for the call waits for all nodes that the function always runs. Nodes keep their names where these
/// are free, and else get the call's as a prefix. Calls of CalledFunctions::whole stay.
Status inline_calls(Body& body, const CalledFunctions& called, const ReferenceResolver& resolver);

/// Returns the function that a call runs; null if the node is no call.
const tensorflow::FunctionDef* find_called(const tensorflow::NodeDef& node,
                                           const std::map<std::string, tensorflow::FunctionDef>& functions);

}  // namespace intarsia
