// Scaled dot-product attention as products and a softmax (Vaswani and others, "Attention Is All You Need",
// 2017; groups of heads: Ainslie and others, "GQA", 2023), for the operators of ONNX and of ONNX Runtime.
#pragma once

#include <limits>

#include "translate/translation.h"

namespace intarsia {

/// Score of a key that is not seen.
inline constexpr double no_score = -std::numeric_limits<double>::infinity();

/// Heads of queries, keys and values, [batch, heads, steps, size] each, of the type that is computed in.
struct AttentionParts {
  ValueId q = no_value, k = no_value, v = no_value;
  int64_t q_heads = 0, kv_heads = 0;
  Dim q_steps;
  double scale = 1, softcap = 0;  // no cap: 0
  DType dtype = DType::f32;

  int64_t group() const { return q_heads / kv_heads; }
  /// Checks whether the heads of a group are rows of one product: those of one query are.
  bool joins_rows() const { return group() > 1 && q_steps == 1; }
  /// Checks whether a group of heads has an axis of its own.
  bool has_group_axis() const { return group() > 1 && !joins_rows(); }
};

/// Which keys a query may see, beside a mask.
struct KeyLimits {
  bool is_causal = false;
  int64_t left = -1, right = -1;  // keys before and after the query's place; -1: all
  ValueId offset = no_value;      // keys before the first query, i64 [1] or [batch]; none: 0
  ValueId length = no_value;      // keys that are not padding, i64 [batch]; none: all
  bool offset_by_batch = false;

  bool any() const { return is_causal || left >= 0 || right >= 0 || length != no_value; }
  /// Checks whether a query sees its own place, and that place is a key.
  bool always_sees_one() const { return length == no_value && left < 0 && right < 0 && !offset_by_batch; }
};

/// Returns a value of rank 3, [batch, steps, heads * size], as heads; one of rank 4 as it is.
ValueId split_heads(Translation& t, ValueId value, int64_t rank, int64_t heads);
/// Returns heads as [batch, steps, heads * size].
ValueId merge_heads(Translation& t, ValueId value);

/// Returns a mask whose axes broadcast to [batch, heads, q steps, keys] so that it broadcasts to the scores.
Result<ValueId> mask_of_scores(Translation& t, const AttentionParts& parts, ValueId mask,
                               const SymbolicShape& sizes);
/// Returns what is true where the limits allow a key; it broadcasts to the scores.
ValueId allowed_keys(Translation& t, const AttentionParts& parts, const KeyLimits& limits);

/// Values between the products, for an output that shows them, as [batch, heads, q steps, keys].
struct ShownScores {
  int64_t mode = -1;  // 0: scaled, 1: after the softcap, 2: biased, 3: probabilities; -1: none
  ValueId value = no_value;
};

/// Computes softmax(q k^T * scale + bias) v as heads. `bias` broadcasts to the scores; no_value: none. With
/// `zeroes_rows`, queries that see no key (all -infinity) give zeros.
ValueId attend(Translation& t, const AttentionParts& parts, ValueId bias, bool zeroes_rows,
               ShownScores& shown);

}  // namespace intarsia
