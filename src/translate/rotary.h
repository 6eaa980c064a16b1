// Rotary position embeddings (Su and others, "RoFormer", 2021), for the operators of ONNX and of ONNX
// Runtime.
#pragma once

#include "translate/translation.h"

namespace intarsia {

struct RotaryParts {
  int64_t size = 0;                            // elements of a head
  int64_t rotated = 0;                         // leading elements of a head that turn, in pairs
  bool is_interleaved = false;                 // pairs are neighbors; otherwise their halves are apart
  ValueId cosine = no_value, sine = no_value;  // [..., rotated / 2], broadcast to the heads
};

/// Turns the pairs of each head, the last axis of `x`.
Result<ValueId> rotate(Translation& t, const RotaryParts& parts, ValueId x);

}  // namespace intarsia
