// Attention, FlexAttention, RotaryEmbedding and SwiGLU of ONNX, as products and elementwise operators.
#include <cmath>

#include "translate/attention_parts.h"
#include "translate/rotary.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Returns the heads of input `i`: an axis, or an attribute where they are packed.
Result<int64_t> heads_of(const Translation& t, size_t i, const char* attribute) {
  const SymbolicShape sizes = TRY(t.sizes(i));
  const int64_t heads =
      sizes.size() == 4 ? sizes[1].is_number() ? sizes[1].number() : 0 : t.attributes().get_int(attribute, 0);
  if (heads < 1) return fail("the number of heads of its input {} is not known", i);
  return heads;
}

/// Returns the steps of keys or values of the past.
Dim steps_of(const Translation& t, size_t past) {
  const std::optional<SymbolicShape>& sizes = t.type(past).shape;
  return sizes && sizes->size() == 4 ? (*sizes)[2] : Dim::unknown();
}

/// Returns keys or values with those of the past before them, and gives them as output `present`.
ValueId with_past(Translation& t, size_t i, size_t past, size_t present, int64_t heads, DType dtype) {
  ValueId value = split_heads(t, t.input(i), *t.rank(i), heads);
  if (t.has_input(past) && steps_of(t, past) != 0)
    value = t.make("Concat", {t.input(past), value}, {{"axis", int64_t{2}}});
  t.give(present, value);
  return t.dtype(i) == dtype ? value : t.cast(value, dtype);
}

Result<AttentionParts> read_parts(Translation& t) {
  const int64_t rank = TRY(t.rank(0));
  for (size_t i = 0; i < 3; ++i)
    if (TRY(t.rank(i)) != rank || rank < 3 || rank > 4)
      return fail("inputs of ranks that differ, or not 3 or 4");
  AttentionParts parts;
  parts.q_heads = TRY(heads_of(t, 0, "q_num_heads"));
  parts.kv_heads = TRY(heads_of(t, 1, "kv_num_heads"));
  if (parts.q_heads % parts.kv_heads != 0)
    return fail("{} heads of q are not a multiple of {} heads of k and v", parts.q_heads, parts.kv_heads);
  const SymbolicShape q = TRY(t.sizes(0));
  const Dim size = rank == 4 ? q[3] : floor_div(q[2], parts.q_heads);
  if (!size.is_number() || size.number() < 1) return fail("heads whose size is not known");
  if (t.has_input(4) != t.has_input(5)) return fail("past_key without past_value, or the other way around");
  parts.dtype = computed_type(t.dtype(0));
  parts.q_steps = rank == 4 ? q[2] : q[1];
  parts.scale = t.attributes().has("scale") ? static_cast<double>(t.attributes().get_float("scale", 1))
                                            : 1 / std::sqrt(static_cast<double>(size.number()));
  parts.softcap = t.attributes().get_float("softcap", 0);
  parts.q = split_heads(t, t.computed(0), rank, parts.q_heads);
  parts.k = with_past(t, 1, 4, 1, parts.kv_heads, parts.dtype);
  parts.v = with_past(t, 2, 5, 2, parts.kv_heads, parts.dtype);
  return parts;
}

/// Reads the limits; padding (input 6) moves the places of queries to the end of the keys if no past is
/// given.
Result<KeyLimits> read_limits(Translation& t, const AttentionParts& parts) {
  KeyLimits limits{.is_causal = t.attributes().get_int("is_causal", 0) != 0,
                   .left = t.attributes().get_int("left_window_size", -1),
                   .right = t.attributes().get_int("right_window_size", -1)};
  if (limits.left < -1 || limits.right < -1) return fail("window sizes below -1");
  if (t.has_input(4) && steps_of(t, 4) != 0) limits.offset = t.size_of(t.input(4), 2);
  if (!t.has_input(6)) return limits;
  if (TRY(t.rank(6)) != 1) return fail("nonpad_kv_seqlen of rank {}", TRY(t.rank(6)));
  limits.length = t.cast(t.input(6), DType::i64);
  if (t.has_input(4)) return limits;
  limits.offset = t.make("Sub", {limits.length, t.size_of(parts.q, 2)});
  limits.offset_by_batch = true;
  return limits;
}

/// Returns a mask as long as the keys: keys beyond a shorter one are not seen.
Result<ValueId> padded_mask(Translation& t, const AttentionParts& parts, const SymbolicShape& sizes) {
  const Dim key_steps = TRY(t.sizes(1))[TRY(t.rank(1)) == 4 ? 2 : 1];
  const Dim keys = t.has_input(4) ? key_steps + TRY(t.sizes(4))[2] : key_steps;
  if (sizes.empty() || sizes.back() == keys) return t.input(3);
  if (!(keys - sizes.back()).is_number() && sizes.back() != 1)
    return fail("a mask of {} keys for {}", sizes.back().print(), keys.print());
  const ValueId missing = t.make("Sub", {t.size_of(parts.k, 2), t.size_of(t.input(3), -1)});
  const bool is_boolean = t.dtype(3) == DType::boolean;
  const ValueId fill =
      is_boolean ? t.cast(t.make_scalar(DType::i32, 0), DType::boolean) : t.make_scalar(t.dtype(3), no_score);
  return t.make("Pad", {t.input(3), t.join({t.make_integers({0}), missing}), fill, t.make_integers({-1})});
}

/// Returns the sum of mask and limits: 0 where a key is seen, -infinity where it is not; no_value if all are.
Result<ValueId> read_bias(Translation& t, const AttentionParts& parts, const KeyLimits& limits) {
  const ValueId seen = t.make_scalar(parts.dtype, 0), unseen = t.make_scalar(parts.dtype, no_score);
  ValueId allowed = limits.any() ? allowed_keys(t, parts, limits) : no_value, added = no_value;
  if (t.has_input(3)) {
    const SymbolicShape sizes = TRY(t.sizes(3));
    const ValueId mask = TRY(mask_of_scores(t, parts, TRY(padded_mask(t, parts, sizes)), sizes));
    if (t.dtype(3) != DType::boolean)
      added = t.dtype(3) == parts.dtype ? mask : t.cast(mask, parts.dtype);
    else
      allowed = allowed == no_value ? mask : t.make("And", {allowed, mask});
  }
  if (allowed == no_value) return added;
  const ValueId bias = t.make("Where", {allowed, seen, unseen});
  return added == no_value ? bias : t.make("Add", {bias, added});
}

Status attention(Translation& t) {
  const AttentionParts parts = TRY(read_parts(t));
  const KeyLimits limits = TRY(read_limits(t, parts));
  const ValueId bias = TRY(read_bias(t, parts, limits));
  ShownScores shown;
  if (t.wants_output(3)) shown.mode = t.attributes().get_int("qk_matmul_output_mode", 0);
  ValueId y = attend(t, parts, bias, t.has_input(3) || !limits.always_sees_one(), shown);
  if (TRY(t.rank(0)) == 3) y = merge_heads(t, y);
  const auto give = [&](size_t i, ValueId value) {
    t.give(i, parts.dtype == t.dtype(0) ? value : t.cast(value, t.dtype(0)));
  };
  give(0, y);
  if (shown.value != no_value) give(3, shown.value);
  return {};
}

Status flex_attention(Translation& t) {
  if (t.attributes().has("score_mod") || t.attributes().has("prob_mod"))
    return fail("with a subgraph that changes scores or probabilities");
  return attention(t);
}

Status rotary_embedding(Translation& t) {
  const SymbolicShape sizes = TRY(t.sizes(0));
  const bool is_packed = sizes.size() == 3;
  if (!is_packed && sizes.size() != 4) return fail("of rank {}", sizes.size());
  RotaryParts parts{.rotated = t.attributes().get_int("rotary_embedding_dim", 0),
                    .is_interleaved = t.attributes().get_int("interleaved", 0) != 0};
  const int64_t heads = t.attributes().get_int("num_heads", 0);
  if (is_packed && heads < 1) return fail("num_heads is {}", heads);
  const Dim size = is_packed ? floor_div(sizes[2], heads) : sizes[3];
  if (!size.is_number()) return fail("heads whose size is not known");
  parts.size = size.number();
  if (parts.rotated == 0) parts.rotated = parts.size;
  ValueId x = t.computed(0);
  if (is_packed) x = t.make("Reshape", {x, t.make_integers({0, 0, heads, parts.size})});
  // A token's row of the caches is that of all its heads.
  for (size_t i : {1, 2}) {
    ValueId cache = t.computed(i);
    if (t.has_input(3)) cache = t.make("Gather", {cache, t.input(3)}, {{"axis", int64_t{0}}});
    (i == 1 ? parts.cosine : parts.sine) = t.unsqueeze(cache, {is_packed ? 2 : 1});
  }
  ValueId y = TRY(rotate(t, parts, x));
  if (is_packed) y = t.make("Reshape", {y, t.make_integers({0, 0, heads * parts.size})});
  t.give(0, computed_type(t.dtype(0)) == t.dtype(0) ? y : t.cast(y, t.dtype(0)));
  return {};
}

/// Translates SwiGLU: x / (1 + exp(-alpha x)) times the other half (Shazeer, "GLU Variants Improve
/// Transformer", 2020).
Status swiglu(Translation& t) {
  const ValueId gate = t.computed(0);
  const float alpha = t.attributes().get_float("alpha", 1);
  const DType dtype = computed_type(t.dtype(0));
  const ValueId scaled = alpha == 1 ? gate : t.make("Mul", {gate, t.make_scalar(dtype, alpha)});
  const ValueId swish = t.make("Mul", {gate, t.make("Sigmoid", {scaled})});
  const ValueId y = t.make("Mul", {swish, t.computed(1)});
  t.give(0, dtype == t.dtype(0) ? y : t.cast(y, t.dtype(0)));
  return {};
}

constexpr TranslationRow attention_rows[] = {
    {"Attention", attention},
    {"FlexAttention", flex_attention, "ai.onnx.preview"},
    {"RotaryEmbedding", rotary_embedding},
    {"SwiGLU", swiglu},
};

}  // namespace

std::span<const TranslationRow> attention_decompositions() { return attention_rows; }

}  // namespace intarsia
