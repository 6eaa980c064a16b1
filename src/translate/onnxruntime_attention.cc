// Attentions of the domain com.microsoft, which exporters and ONNX Runtime's optimizers write.
#include <cmath>

#include "translate/attention_parts.h"
#include "translate/rotary.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Fails if one of these inputs exists.
Status refuse_inputs(const Translation& t, std::initializer_list<std::pair<size_t, const char*>> inputs) {
  for (const auto& [i, name] : inputs)
    if (t.has_input(i)) return fail("with the input {}", name);
  return {};
}

Result<int64_t> positive(const Translation& t, const char* attribute) {
  const int64_t number = t.attributes().get_int(attribute, 0);
  if (number < 1) return fail("attribute {} is {}", attribute, number);
  return number;
}

/// Returns the scale that the attribute says, or that of heads of this size.
double scale_of(const Translation& t, int64_t size) {
  const float scale = t.attributes().get_float("scale", 0);
  return scale != 0 ? static_cast<double>(scale) : 1 / std::sqrt(static_cast<double>(size));
}

/// Returns a mask of integers, 0 where keys are padding, as what is added to scores; it has rank 2, [batch,
/// keys], or 3, [batch, queries, keys].
Result<ValueId> padding_bias(Translation& t, size_t i, DType dtype) {
  const int64_t rank = TRY(t.rank(i));
  if (rank != 2 && rank != 3) return fail("a mask of rank {}", rank);
  const ValueId mask =
      t.unsqueeze(t.input(i), rank == 2 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1});
  const ValueId is_padding = t.make("Equal", {mask, t.make_scalar(t.dtype(i), 0)});
  const float filter = t.attributes().get_float("mask_filter_value", -10000);
  return t.make("Where", {is_padding, t.make_scalar(dtype, filter), t.make_scalar(dtype, 0)});
}

/// Returns the sum of the padding of `mask`, of the bias that is added, and of what a query does not see when
/// it only sees keys before it; no_value if there is none.
Result<ValueId> bias_of(Translation& t, const AttentionParts& parts, size_t mask, size_t added,
                        ValueId past_steps) {
  ValueId bias = no_value;
  const auto add = [&](ValueId value) { bias = bias == no_value ? value : t.make("Add", {bias, value}); };
  if (t.has_input(mask)) add(TRY(padding_bias(t, mask, parts.dtype)));
  if (t.has_input(added)) add(t.computed(added));
  if (t.attributes().get_int("unidirectional", 0) != 0) {
    const ValueId seen = allowed_keys(t, parts, {.is_causal = true, .offset = past_steps});
    add(t.make("Where", {seen, t.make_scalar(parts.dtype, 0), t.make_scalar(parts.dtype, no_score)}));
  }
  return bias;
}

void give_stored(Translation& t, size_t output, ValueId value) {
  t.give(output, computed_type(t.dtype(0)) == t.dtype(0) ? value : t.cast(value, t.dtype(0)));
}

/// Translates MultiHeadAttention of queries, keys and values that are apart: [batch, steps, heads * size]
/// each, or keys and values as heads.
Status multi_head_attention(Translation& t) {
  TRY(refuse_inputs(t, {{8, "past_sequence_length"}, {9, "cache_indirection"}}));
  if (!t.has_input(1) || !t.has_input(2)) return fail("with packed queries, keys and values");
  if (t.wants_output(3)) return fail("with scores as an output");
  if (TRY(t.rank(0)) != 3) return fail("of queries of rank {}", TRY(t.rank(0)));
  if (t.has_input(6) != t.has_input(7)) return fail("past keys without values, or the other way around");
  AttentionParts parts{.dtype = computed_type(t.dtype(0))};
  parts.q_heads = parts.kv_heads = TRY(positive(t, "num_heads"));
  const SymbolicShape q = TRY(t.sizes(0));
  if (!q[2].is_number() || q[2].number() % parts.q_heads != 0)
    return fail("{} heads of queries {}", parts.q_heads, print_shape(q));
  parts.q_steps = q[1];
  parts.scale = scale_of(t, q[2].number() / parts.q_heads);
  ValueId values[3];
  int64_t first = 0;  // of the bias, which has that of queries, keys and values one after the other
  for (size_t i = 0; i < 3; ++i) {
    const SymbolicShape sizes = TRY(t.sizes(i));
    if (sizes.size() != 3 && sizes.size() != 4) return fail("input {} of rank {}", i, sizes.size());
    values[i] = t.computed(i);
    if (t.has_input(3)) {
      if (sizes.size() != 3 || !sizes[2].is_number()) return fail("a bias of heads {}", print_shape(sizes));
      const ValueId bias = t.slice(t.computed(3), 0, first, first + sizes[2].number());
      values[i] = t.make("Add", {values[i], bias});
      first += sizes[2].number();
    }
    values[i] = split_heads(t, values[i], static_cast<int64_t>(sizes.size()), parts.q_heads);
  }
  ValueId past_steps = no_value;
  if (t.has_input(6)) {
    past_steps = t.size_of(t.input(6), 2);
    for (size_t i : {1, 2})
      values[i] = t.make("Concat", {t.computed(5 + i), values[i]}, {{"axis", int64_t{2}}});
  }
  give_stored(t, 1, values[1]);
  give_stored(t, 2, values[2]);
  parts.q = values[0], parts.k = values[1], parts.v = values[2];
  ShownScores shown;
  const ValueId bias = TRY(bias_of(t, parts, 4, 5, past_steps));
  give_stored(t, 0, merge_heads(t, attend(t, parts, bias, false, shown)));
  return {};
}

/// Translates Attention: the products that make queries, keys and values are part of it.
Status attention_with_weights(Translation& t) {
  TRY(refuse_inputs(t, {{6, "past_sequence_length"}}));
  if (t.attributes().get_int("do_rotary", 0) != 0) return fail("with rotary embeddings");
  const SymbolicShape weights = TRY(t.sizes(1));
  if (TRY(t.rank(0)) != 3 || weights.size() != 2 || !weights[1].is_number())
    return fail("of {} by {}", print_shape(TRY(t.sizes(0))), print_shape(weights));
  AttentionParts parts{.dtype = computed_type(t.dtype(0))};
  parts.q_heads = parts.kv_heads = TRY(positive(t, "num_heads"));
  parts.q_steps = TRY(t.sizes(0))[1];
  const int64_t third = weights[1].number() / 3;
  const std::vector<int64_t> sizes = t.attributes().get_ints("qkv_hidden_sizes", {third, third, third});
  if (sizes.size() != 3 || sizes[0] < 1 || sizes[2] < 1 || sizes[0] != sizes[1] ||
      sizes[0] % parts.q_heads != 0 || sizes[2] % parts.q_heads != 0 ||
      sizes[0] + sizes[1] + sizes[2] != weights[1].number())
    return fail("{} heads of {} columns", parts.q_heads, weights[1].number());
  parts.scale = scale_of(t, sizes[0] / parts.q_heads);
  ValueId product = t.make("MatMul", {t.computed(0), t.computed(1)});
  if (t.has_input(2)) product = t.make("Add", {product, t.computed(2)});
  std::vector<ValueId> values =
      t.make_several("Split", {product, t.make_integers(sizes)}, 3, {{"axis", int64_t{2}}});
  for (ValueId& value : values) value = split_heads(t, value, 3, parts.q_heads);
  ValueId past_steps = no_value;
  if (t.has_input(4)) {
    past_steps = t.size_of(t.input(4), 3);
    for (int64_t i : {0, 1}) {
      const ValueId past = t.make("Squeeze", {t.slice(t.computed(4), 0, i, i + 1), t.make_integers({0})});
      ValueId& value = values[static_cast<size_t>(i) + 1];
      value = t.make("Concat", {past, value}, {{"axis", int64_t{2}}});
    }
  }
  parts.q = values[0], parts.k = values[1], parts.v = values[2];
  if (t.wants_output(1)) {
    const std::vector<ValueId> both{t.unsqueeze(parts.k, {0}), t.unsqueeze(parts.v, {0})};
    give_stored(t, 1, t.make("Concat", both, {{"axis", int64_t{0}}}));
  }
  ShownScores shown;
  const ValueId bias = TRY(bias_of(t, parts, 3, 5, past_steps));
  give_stored(t, 0, merge_heads(t, attend(t, parts, bias, false, shown)));
  return {};
}

/// Translates RotaryEmbedding; one position is that of the first step.
Status rotary_embedding_at(Translation& t) {
  if (t.attributes().get_int("is_packed_batching", 0) != 0) return fail("with a packed batch");
  if (t.attributes().get_float("scale", 1) != 1) return fail("with a scale");
  const SymbolicShape sizes = TRY(t.sizes(0)), cache = TRY(t.sizes(2));
  const bool is_packed = sizes.size() == 3;
  if ((!is_packed && sizes.size() != 4) || cache.size() != 2 || !cache[1].is_number())
    return fail("of {} by {}", print_shape(sizes), print_shape(cache));
  RotaryParts parts{.rotated = 2 * cache[1].number(),
                    .is_interleaved = t.attributes().get_int("interleaved", 0) != 0};
  const bool is_partial = t.attributes().get_int("rotary_embedding_dim", 0) > 0;
  int64_t heads = t.attributes().get_int("num_heads", 0);
  const Dim last = sizes.back();
  if (!last.is_number()) return fail("of heads whose size is open");
  if (is_packed && heads < 1 && is_partial) return fail("num_heads is {}", heads);
  parts.size = !is_packed ? last.number() : heads > 0 ? last.number() / heads : parts.rotated;
  if (parts.size < 1 || last.number() % parts.size != 0)
    return fail("heads of {} of {}", parts.size, last.number());
  heads = last.number() / parts.size;
  ValueId positions = t.input(1);
  if (TRY(t.rank(1)) == 1) {
    const ValueId steps = t.count_up(t.size_of(t.input(0), is_packed ? 1 : 2));
    positions = t.unsqueeze(t.make("Add", {steps, t.cast(positions, DType::i64)}), {0});
  }
  ValueId x = t.computed(0);
  if (is_packed) x = t.make("Reshape", {x, t.make_integers({0, 0, heads, parts.size})});
  for (size_t i : {2, 3}) {
    const ValueId rows = t.make("Gather", {t.computed(i), positions}, {{"axis", int64_t{0}}});
    (i == 2 ? parts.cosine : parts.sine) = t.unsqueeze(rows, {is_packed ? 2 : 1});
  }
  ValueId y = TRY(rotate(t, parts, x));
  if (is_packed) y = t.make("Reshape", {y, t.make_integers({0, 0, last.number()})});
  give_stored(t, 0, y);
  return {};
}

constexpr TranslationRow onnxruntime_attention_rows[] = {
    {"Attention", attention_with_weights},
    {"MultiHeadAttention", multi_head_attention},
    {"RotaryEmbedding", rotary_embedding_at},
};

}  // namespace

std::span<const TranslationRow> onnxruntime_attention_translations() { return onnxruntime_attention_rows; }

}  // namespace intarsia
