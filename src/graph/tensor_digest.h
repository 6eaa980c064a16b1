// Names for big tensors in the text form.
#pragma once

#include <cstdint>
#include <map>

#include "graph/graph.h"

namespace intarsia {

/// Returns the XXH3 (64 bit) of dtype, shape and elements: equal tensors have equal digests.
uint64_t digest_tensor(const TensorView& tensor);

/// Returns all tensors of a graph, its constants and its attributes', by digest.
std::map<uint64_t, Tensor> digest_tensors(const Graph& graph);

}  // namespace intarsia
