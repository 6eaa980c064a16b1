// Loops that are a layer.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Finds the While loops of Keras' LSTM and GRU (default activations, reset_after) with the nodes that pack their input into
/// a list and their outputs out of one, and makes each one node "LSTM" or "GRU" of domain "tensorflow", which still holds the
/// original nodes. Any other loop stays. Inputs of the new node: x [steps, batch, input], initial h (and, for an LSTM, c),
/// kernel, recurrent kernel, bias, the number of steps, then what only the original nodes need; outputs: all h
/// [steps, batch, units] (or the last alone: attribute `last_only`), the last h, the last c.
///   TensorListFromTensor -> While(body = LSTM cell) -> TensorListStack      ->   LSTM
Status recognise_recurrence(Graph& graph);

}  // namespace intarsia
