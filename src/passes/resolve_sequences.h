// Sequences whose elements are known at compile time.
#pragma once

#include "graph/graph.h"

namespace intarsia {

/// Replaces nodes that read from a sequence by nodes that read its elements, where these are known: their
/// number, and the positions at which they are inserted, erased, cut and read. An element of
/// SplitToSequence becomes a Slice, or a Gather if the axis is dropped. All else stays as it is, and nodes
/// that make sequences stay without readers, for remove_dead_nodes.
///   %s = SplitToSequence(%x : f32[4,3], 2)       ->   %s = SplitToSequence(%x, 2)
///   %a = SequenceAt(%s, 1)                            %a = Slice(%x, [2], [4], [0])
///   %t = SequenceInsert(%s, %z)                       %t = SequenceInsert(%s, %z)
///   %n = SequenceLength(%t)                           %n = 3
/// Returns whether it replaced any; the types of what reads their outputs may then be inferred further.
bool resolve_sequences(Graph& graph);

}  // namespace intarsia
