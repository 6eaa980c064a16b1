// A run of a program's function within TensorFlow: tensors cross without a copy where that is possible.
#pragma once

#include "bindings/tensorflow/artifact.h"
#include "bindings/tensorflow/node.h"

namespace intarsia::op {

/// Returns an input of the op. Throws a Failure.
TensorReference get_input(TF_OpKernelContext* context, int input);

/// Runs a function on the op's inputs after the first, in their order, and sets the op's outputs. TensorFlow
/// allocates these once their sizes are known. Throws a Failure.
void run(const Artifact& artifact, const Function& function, TF_OpKernelContext* context);

}  // namespace intarsia::op
