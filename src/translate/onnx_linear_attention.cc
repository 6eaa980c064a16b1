// LinearAttention of ONNX. A state [batch, heads, key size, value size] carries what the tokens said: S
// decays, then S += k v, or S += beta k (v - S k) (the delta rule). Where S only sums, all tokens are
// computed at once, as an attention without a softmax; else token by token, which pays for few.
//   Katharopoulos and others, "Transformers are RNNs", 2020; Yang and others, "Gated Delta Networks", 2024
#include <cmath>

#include "translate/attention_parts.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

constexpr int64_t most_tokens = 16;  // that are computed one after the other

struct LinearParts {
  ValueId q = no_value, k = no_value, v = no_value;  // [batch, heads of keys, ..., tokens, size]
  ValueId decay = no_value;  // logarithm of what is kept: [batch, heads, tokens, 1 or key size]
  ValueId beta = no_value;   // [batch, heads or 1, tokens, 1]
  ValueId state = no_value;  // [batch, heads, key size, value size]; no_value: zeros
  int64_t heads = 0, group = 1, k_size = 0;
  bool decays_by_head = true;
  double scale = 1;
  DType dtype = DType::f32;
  Dim tokens;
};

Status read_rule(Translation& t, LinearParts& parts) {
  const std::string rule = t.attributes().get_string("update_rule", "gated_delta");
  const bool is_gated = rule.starts_with("gated"), is_delta = rule.ends_with("delta");
  if (!is_gated && !is_delta && rule != "linear") return fail("update_rule '{}'", rule);
  if (is_gated != t.has_input(4) || is_delta != t.has_input(5))
    return fail("update_rule '{}' and the inputs decay and beta do not fit", rule);
  const auto heads_of = [&](size_t i, int64_t size) {
    const ValueId split = t.make("Reshape", {t.computed(i), t.make_integers({0, 0, -1, size})});
    return t.transpose(split, {0, 2, 1, 3});
  };
  if (is_gated) {
    const Dim last = TRY(t.sizes(4)).back();
    parts.decays_by_head = last == parts.heads;
    if (!parts.decays_by_head && last != parts.heads * parts.k_size) return fail("decay of {}", last.print());
    parts.decay = heads_of(4, parts.decays_by_head ? 1 : parts.k_size);
  }
  if (is_delta) parts.beta = heads_of(5, 1);
  return {};
}

Result<LinearParts> read_parts_of_linear(Translation& t) {
  LinearParts parts{.dtype = computed_type(t.dtype(0))};
  const int64_t q_heads = t.attributes().get_int("q_num_heads", 0);
  parts.heads = t.attributes().get_int("kv_num_heads", 0);
  if (q_heads < 1 || parts.heads < 1 || q_heads % parts.heads != 0)
    return fail("{} heads of q are not a multiple of {} heads of k and v", q_heads, parts.heads);
  for (size_t i = 0; i < 3; ++i)
    if (TRY(t.rank(i)) != 3 || !TRY(t.sizes(i))[2].is_number())
      return fail("inputs whose sizes are not known");
  parts.group = q_heads / parts.heads;
  parts.k_size = TRY(t.sizes(0))[2].number() / q_heads;
  parts.tokens = TRY(t.sizes(0))[1];
  if (parts.k_size < 1) return fail("heads of no elements");
  parts.scale = t.attributes().get_float("scale", 0);
  if (parts.scale == 0) parts.scale = 1 / std::sqrt(static_cast<double>(parts.k_size));
  parts.q = split_heads(t, t.computed(0), 3, q_heads);
  parts.k = split_heads(t, t.computed(1), 3, parts.heads);
  parts.v = split_heads(t, t.computed(2), 3, parts.heads);
  if (t.has_input(3)) parts.state = t.computed(3);
  TRY(read_rule(t, parts));
  return parts;
}

/// Results of the tokens, [batch, heads of queries, tokens, value size], and the state after them.
struct LinearResult {
  ValueId y, state;
};

ValueId add(Translation& t, ValueId a, ValueId b) { return a == no_value ? b : t.make("Add", {a, b}); }

/// Computes tokens one after the other.
LinearResult run_tokens(Translation& t, const LinearParts& parts) {
  const ValueId q =
      t.make("Reshape", {parts.q, t.join({t.make_integers({0, parts.heads, parts.group}),
                                          t.size_of(parts.q, 2), t.make_integers({parts.k_size})})});
  ValueId state = parts.state;
  std::vector<ValueId> results;
  for (int64_t i = 0; i < parts.tokens.number(); ++i) {
    const auto token = [&](ValueId value) { return t.slice(value, 2, i, i + 1); };  // [batch, heads, 1, size]
    const ValueId key = t.transpose(token(parts.k), {0, 1, 3, 2});
    if (parts.decay != no_value && state != no_value)
      state = t.make("Mul", {state, t.transpose(t.make("Exp", {token(parts.decay)}), {0, 1, 3, 2})});
    ValueId added = token(parts.v);
    if (parts.beta != no_value) {
      if (state != no_value) added = t.make("Sub", {added, t.make("MatMul", {token(parts.k), state})});
      added = t.make("Mul", {added, token(parts.beta)});
    }
    state = add(t, state, t.make("Mul", {key, added}));
    const ValueId query = t.make("Squeeze", {t.slice(q, 3, i, i + 1), t.make_integers({3})});
    results.push_back(t.unsqueeze(t.make("MatMul", {query, state}), {3}));  // [batch, heads, group, 1, size]
  }
  ValueId y = results.size() == 1 ? results[0] : t.make("Concat", results, {{"axis", int64_t{3}}});
  y = t.make("Mul", {y, t.make_scalar(parts.dtype, parts.scale)});
  return {t.make("Reshape", {y, t.join({t.make_integers({0, parts.heads * parts.group}),
                                        t.size_of(parts.q, 2), t.make_integers({-1})})}),
          state};
}

/// Computes all tokens at once, for sums that decay by head: token i sees exp(d(j + 1) + ... + d(i)) of token
/// j.
LinearResult run_at_once(Translation& t, const LinearParts& parts) {
  const auto grouped = [&](ValueId value) { return parts.group == 1 ? value : t.unsqueeze(value, {2}); };
  ValueId q = parts.q;
  if (parts.group > 1)
    q = t.make("Reshape", {q, t.join({t.make_integers({0, parts.heads, parts.group}), t.size_of(q, 2),
                                      t.make_integers({parts.k_size})})});
  ValueId scores = t.make("MatMul", {q, grouped(t.transpose(parts.k, {0, 1, 3, 2}))});
  const ValueId place = t.count_up(t.size_of(parts.q, 2)),
                seen = t.make("LessOrEqual", {place, t.unsqueeze(place, {1})});
  ValueId kept = no_value,
          after = no_value;  // of the first state by each token, and of each token after the last
  if (parts.decay != no_value) {
    const ValueId sums =
        t.make("CumSum", {parts.decay, t.make_scalar(DType::i64, 2)});  // [batch, heads, tokens, 1]
    const ValueId between = t.make("Sub", {sums, t.transpose(sums, {0, 1, 3, 2})});
    scores = t.make(
        "Mul",
        {scores, grouped(t.make("Exp", {t.make("Where", {seen, between, t.make_scalar(parts.dtype, 0)})}))});
    const ValueId last = t.slice(sums, 2, -1, std::numeric_limits<int64_t>::max());
    after = t.make("Exp", {t.make("Sub", {last, sums})});
    kept = t.make("Exp", {sums});
  }
  scores = t.make("Where", {seen, scores, t.make_scalar(parts.dtype, 0)});
  ValueId y = t.make("MatMul", {scores, grouped(parts.v)});
  const ValueId keys = after == no_value ? parts.k : t.make("Mul", {parts.k, after});
  ValueId state = t.make("MatMul", {t.transpose(keys, {0, 1, 3, 2}), parts.v});
  if (parts.state != no_value) {
    ValueId known = t.make("MatMul", {q, grouped(parts.state)}), first = parts.state;
    if (kept != no_value) {
      known = t.make("Mul", {known, grouped(kept)});
      first = t.make("Mul", {first, t.slice(kept, 2, -1, std::numeric_limits<int64_t>::max())});
    }
    y = t.make("Add", {y, known});
    state = t.make("Add", {state, first});
  }
  y = t.make("Mul", {y, t.make_scalar(parts.dtype, parts.scale)});
  if (parts.group > 1)
    y = t.make("Reshape", {y, t.join({t.make_integers({0, parts.heads * parts.group}), t.size_of(parts.q, 2),
                                      t.make_integers({-1})})});
  return {y, state};
}

Status linear_attention(Translation& t) {
  const LinearParts parts = TRY(read_parts_of_linear(t));
  const bool is_short =
      parts.tokens.is_number() && parts.tokens.number() >= 1 && parts.tokens.number() <= most_tokens;
  const bool only_sums = parts.beta == no_value && parts.decays_by_head;
  if (!is_short && !only_sums) return fail("{} tokens, one after the other", parts.tokens.print());
  const LinearResult result = only_sums && parts.tokens != 1 ? run_at_once(t, parts) : run_tokens(t, parts);
  const auto give = [&](size_t i, ValueId value, DType dtype) {
    t.give(i, parts.dtype == dtype ? value : t.cast(value, dtype));
  };
  give(0, merge_heads(t, result.y), t.dtype(0));
  give(1, result.state, t.has_input(3) ? t.dtype(3) : t.dtype(0));
  return {};
}

constexpr TranslationRow linear_attention_rows[] = {{"LinearAttention", linear_attention}};

}  // namespace

std::span<const TranslationRow> linear_attention_decompositions() { return linear_attention_rows; }

}  // namespace intarsia
