// GroupQueryAttention of the domain com.microsoft: the attention of decoders, whose keys and values are kept
// from one step to the next in a buffer that may be longer than what is known of it.
#include <cmath>

#include "translate/attention_parts.h"
#include "translate/rotary.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// What the node reads, as heads.
struct GroupedInputs {
  AttentionParts parts;
  int64_t size = 0;          // elements of a head
  ValueId known = no_value;  // keys before the first query, i64 [batch]
  bool has_past = false;
};

Status refuse_unusual(const Translation& t) {
  for (const auto& [i, name] : {std::pair<size_t, const char*>{9, "position_ids"},
                                {10, "attention_bias"},
                                {11, "head_sink"},
                                {12, "k_scale"},
                                {13, "v_scale"},
                                {14, "q_norm_weight"},
                                {15, "k_norm_weight"}})
    if (t.has_input(i)) return fail("with the input {}", name);
  for (const char* name : {"smooth_softmax", "qk_output", "sliding_window_cache"})
    if (t.attributes().get_int(name, 0) > 0) return fail("with {}", name);
  if (t.attributes().get_int("causal", 1) != 1) return fail("with keys after a query");
  if (t.has_input(3) != t.has_input(4)) return fail("past keys without values, or the other way around");
  if (t.wants_output(3)) return fail("with scores as an output");
  return {};
}

/// Reads queries, keys and values, which may be packed in input 0.
Result<GroupedInputs> read_grouped(Translation& t) {
  TRY(refuse_unusual(t));
  GroupedInputs inputs{.parts = {.dtype = computed_type(t.dtype(0))}};
  AttentionParts& parts = inputs.parts;
  parts.q_heads = t.attributes().get_int("num_heads", 0);
  parts.kv_heads = t.attributes().get_int("kv_num_heads", 0);
  if (parts.q_heads < 1 || parts.kv_heads < 1 || parts.q_heads % parts.kv_heads != 0)
    return fail("{} heads of queries and {} of keys", parts.q_heads, parts.kv_heads);
  const SymbolicShape q = TRY(t.sizes(0));
  const bool is_packed = !t.has_input(1);
  const int64_t heads = is_packed ? parts.q_heads + 2 * parts.kv_heads : parts.q_heads;
  if (q.size() != 3 || !q[2].is_number() || q[2].number() % heads != 0)
    return fail("{} heads of {}", heads, print_shape(q));
  inputs.size = q[2].number() / heads;
  parts.q_steps = q[1];
  const float scale = t.attributes().get_float("scale", 0);
  parts.scale = scale != 0 ? static_cast<double>(scale) : 1 / std::sqrt(static_cast<double>(inputs.size));
  parts.softcap = t.attributes().get_float("softcap", 0);
  std::vector<ValueId> values;
  if (is_packed) {
    const std::vector<int64_t> sizes{parts.q_heads * inputs.size, parts.kv_heads * inputs.size,
                                     parts.kv_heads * inputs.size};
    values = t.make_several("Split", {t.computed(0), t.make_integers(sizes)}, 3, {{"axis", int64_t{2}}});
  } else {
    values = {t.computed(0), t.computed(1), t.computed(2)};
  }
  parts.q = split_heads(t, values[0], 3, parts.q_heads);
  parts.k = split_heads(t, values[1], 3, parts.kv_heads);
  parts.v = split_heads(t, values[2], 3, parts.kv_heads);
  return inputs;
}

/// Finds the number of keys before the first query: a prompt has none, whatever is in the buffer.
Status read_known(Translation& t, GroupedInputs& inputs) {
  const Dim total = TRY(t.elements(6)).at(0), steps = inputs.parts.q_steps;
  const Dim buffer = t.has_input(3) ? TRY(t.sizes(3))[2] : Dim(0);
  const ValueId lengths = t.make("Reshape", {t.cast(t.input(5), DType::i64), t.make_integers({-1})});
  inputs.has_past = buffer != 0;
  if (!inputs.has_past) {
    if (total != steps) return fail("{} keys without a past for {} queries", total.print(), steps.print());
    inputs.known = t.make("Mul", {lengths, t.make_integers({0})});
    return {};
  }
  const ValueId count = t.size_of(inputs.parts.q, 2);
  const ValueId before = t.make("Sub", {t.make("Add", {lengths, t.make_integers({1})}), count});
  const ValueId is_prompt =
      t.make("Equal", {t.make("Reshape", {t.cast(t.input(6), DType::i64), t.make_integers({1})}), count});
  inputs.known = t.make("Where", {is_prompt, t.make_integers({0}), before});
  return {};
}

/// Puts the new keys, or values, after those that are known of the past: [batch, heads, max(past, total),
/// size].
ValueId append_known(Translation& t, const GroupedInputs& inputs, ValueId past, ValueId fresh) {
  const ValueId both = t.make("Concat", {past, fresh}, {{"axis", int64_t{2}}});
  const ValueId buffer = t.size_of(past, 2);
  const ValueId total = t.make("Reshape", {t.cast(t.input(6), DType::i64), t.make_integers({1})});
  const ValueId key = t.count_up(t.make("Max", {buffer, total})), known = t.unsqueeze(inputs.known, {1});
  const ValueId last = t.make("Sub", {t.size_of(both, 2), t.make_integers({1})});
  const ValueId moved = t.make("Min", {t.make("Add", {t.make("Sub", {key, known}), buffer}), last});
  const ValueId places = t.make("Where", {t.make("Less", {key, known}), key, moved});  // [batch, keys]
  const ValueId taken = t.make("GatherND", {t.transpose(both, {0, 2, 1, 3}), t.unsqueeze(places, {2})},
                               {{"batch_dims", int64_t{1}}});
  // What is beyond the new ones is zero.
  const ValueId end = t.make("Add", {known, t.size_of(fresh, 2)});
  const ValueId is_kept = t.unsqueeze(t.make("Less", {key, end}), {2, 3});
  const ValueId kept = t.make("Where", {is_kept, taken, t.make_scalar(inputs.parts.dtype, 0)});
  return t.transpose(kept, {0, 2, 1, 3});
}

/// Turns queries and keys by the places of their steps.
Status rotate_heads(Translation& t, GroupedInputs& inputs) {
  const SymbolicShape cache = TRY(t.sizes(7));
  if (cache.size() != 2 || !cache[1].is_number()) return fail("caches of {}", print_shape(cache));
  RotaryParts rotary{.size = inputs.size,
                     .rotated = 2 * cache[1].number(),
                     .is_interleaved = t.attributes().get_int("rotary_interleaved", 0) != 0};
  const ValueId steps = t.count_up(t.size_of(inputs.parts.q, 2));
  const ValueId positions = t.make("Add", {t.unsqueeze(inputs.known, {1}), steps});
  for (size_t i : {7, 8}) {
    const ValueId rows = t.make("Gather", {t.computed(i), positions}, {{"axis", int64_t{0}}});
    (i == 7 ? rotary.cosine : rotary.sine) = t.unsqueeze(rows, {1});
  }
  inputs.parts.q = TRY(rotate(t, rotary, inputs.parts.q));
  inputs.parts.k = TRY(rotate(t, rotary, inputs.parts.k));
  return {};
}

Status group_query_attention(Translation& t) {
  GroupedInputs inputs = TRY(read_grouped(t));
  TRY(read_known(t, inputs));
  if (t.attributes().get_int("do_rotary", 0) != 0) TRY(rotate_heads(t, inputs));
  AttentionParts& parts = inputs.parts;
  if (inputs.has_past) {
    parts.k = append_known(t, inputs, t.computed(3), parts.k);
    parts.v = append_known(t, inputs, t.computed(4), parts.v);
  }
  const auto give = [&](size_t i, ValueId value) {
    t.give(i, parts.dtype == t.dtype(0) ? value : t.cast(value, t.dtype(0)));
  };
  give(1, parts.k);
  give(2, parts.v);
  const int64_t window = t.attributes().get_int("local_window_size", -1);
  const KeyLimits limits{.is_causal = true,
                         .left = window > 0 ? window - 1 : -1,
                         .offset = inputs.known,
                         .offset_by_batch = true};
  const ValueId seen = allowed_keys(t, parts, limits);
  const ValueId bias =
      t.make("Where", {seen, t.make_scalar(parts.dtype, 0), t.make_scalar(parts.dtype, no_score)});
  ShownScores shown;
  give(0, merge_heads(t, attend(t, parts, bias, false, shown)));
  return {};
}

constexpr TranslationRow grouped_attention_rows[] = {{"GroupQueryAttention", group_query_attention}};

}  // namespace

std::span<const TranslationRow> grouped_attention_translations() { return grouped_attention_rows; }

}  // namespace intarsia
