// Recognition of loops that are a recurrent layer.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Finds the While loops of Keras' LSTM and GRU (default activations) with the nodes that pack their input
/// into a list and their outputs out of one, and makes each one node "LSTM" or "GRU" of domain "tensorflow",
/// which still holds the original nodes (tensorflow/composite.h). Any other loop stays. Inputs of the new
/// node: x [steps, batch, input], initial h (and, for an LSTM, c), kernel, recurrent kernel, bias (attribute
/// `has_bias`), numbers of steps of which the smallest counts (attribute `bounds`: how many), then what only
/// the original nodes need; outputs: all h [steps, batch, units] (attribute `last_only`: the last one, [1,
/// batch, units]), the last h, the last c. Returns whether it found any; the nodes may then be out of order.
///   TensorListFromTensor -> While(body = LSTM cell) -> TensorListStack      ->   LSTM
Result<bool> recognize_recurrence(Graph& graph);

}  // namespace intarsia
