#include "translate/attention_parts.h"

namespace intarsia {
namespace {

/// Gives heads of queries the axis of their group, or makes rows of a group's heads.
///   [b, kv * g, s, d]  ->  [b, kv, g, s, d]  or, for s = 1,  [b, kv, g, d]
ValueId group_queries(Translation& t, const AttentionParts& parts, ValueId q) {
  if (parts.group() == 1) return q;
  std::vector<ValueId> shape{t.size_of(q, 0), t.make_integers({parts.kv_heads, parts.group()})};
  if (parts.has_group_axis()) shape.push_back(t.size_of(q, 2));
  shape.push_back(t.size_of(q, 3));
  return t.make("Reshape", {q, t.join(std::move(shape))});
}

/// Undoes group_queries for a result of the same leading axes.
ValueId ungroup(Translation& t, const AttentionParts& parts, ValueId value) {
  if (parts.group() == 1) return value;
  const int64_t steps = parts.has_group_axis() ? 3 : -1, last = parts.has_group_axis() ? 4 : 3;
  return t.make("Reshape", {value, t.join({t.size_of(value, 0), t.make_integers({parts.q_heads}),
                                           steps < 0 ? t.make_integers({1}) : t.size_of(value, steps),
                                           t.size_of(value, last)})});
}

}  // namespace

ValueId split_heads(Translation& t, ValueId value, int64_t rank, int64_t heads) {
  if (rank == 4) return value;
  const ValueId split = t.make("Reshape", {value, t.make_integers({0, 0, heads, -1})});
  return t.transpose(split, {0, 2, 1, 3});
}

ValueId merge_heads(Translation& t, ValueId value) {
  return t.make("Reshape", {t.transpose(value, {0, 2, 1, 3}), t.make_integers({0, 0, -1})});
}

Result<ValueId> mask_of_scores(Translation& t, const AttentionParts& parts, ValueId mask,
                               const SymbolicShape& sizes) {
  if (sizes.size() > 4) return fail("a mask of rank {}", sizes.size());
  if (parts.group() == 1 || sizes.size() < 3) return mask;
  const size_t heads = sizes.size() - 3;
  if (sizes[heads] == 1) {
    const bool needs_axis = parts.has_group_axis() && sizes.size() == 4;
    return needs_axis ? t.unsqueeze(mask, {2}) : mask;
  }
  if (sizes[heads] != parts.q_heads) return fail("a mask of {} heads", sizes[heads].print());
  std::vector<ValueId> shape;
  if (heads == 1) shape.push_back(t.size_of(mask, 0));
  shape.push_back(t.make_integers({parts.kv_heads, parts.group()}));
  const auto rows = static_cast<int64_t>(heads) + 1;
  if (parts.has_group_axis()) shape.push_back(t.size_of(mask, rows));
  shape.push_back(t.size_of(mask, rows + 1));
  return t.make("Reshape", {mask, t.join(std::move(shape))});
}

ValueId allowed_keys(Translation& t, const AttentionParts& parts, const KeyLimits& limits) {
  const std::vector<int64_t> beside_batch =
      parts.has_group_axis() ? std::vector<int64_t>{1, 2, 3, 4} : std::vector<int64_t>{1, 2, 3};
  const ValueId key = t.count_up(t.size_of(parts.k, 2));
  ValueId place = t.unsqueeze(t.count_up(t.size_of(parts.q, 2)), {1});
  if (limits.offset != no_value) {
    const ValueId offset = limits.offset_by_batch ? t.unsqueeze(limits.offset, beside_batch) : limits.offset;
    place = t.make("Add", {place, offset});
  }
  ValueId allowed = no_value;
  const auto require = [&](ValueId condition) {
    allowed = allowed == no_value ? condition : t.make("And", {allowed, condition});
  };
  const auto number = [&](int64_t value) { return t.make_integers({value}); };
  if (limits.is_causal) require(t.make("LessOrEqual", {key, place}));
  if (limits.left >= 0) require(t.make("LessOrEqual", {t.make("Sub", {place, key}), number(limits.left)}));
  if (limits.right >= 0) require(t.make("LessOrEqual", {t.make("Sub", {key, place}), number(limits.right)}));
  if (limits.length != no_value) require(t.make("Less", {key, t.unsqueeze(limits.length, beside_batch)}));
  return allowed;
}

ValueId attend(Translation& t, const AttentionParts& parts, ValueId bias, bool zeroes_rows,
               ShownScores& shown) {
  const auto number = [&](double value) { return t.make_scalar(parts.dtype, value); };
  const auto show = [&](int64_t mode, ValueId value) {
    if (shown.mode == mode) shown.value = ungroup(t, parts, value);
  };
  ValueId k = t.transpose(parts.k, {0, 1, 3, 2}), v = parts.v;
  if (parts.has_group_axis()) k = t.unsqueeze(k, {2}), v = t.unsqueeze(v, {2});
  ValueId scores = t.make("MatMul", {group_queries(t, parts, parts.q), k});
  if (parts.scale != 1) scores = t.make("Mul", {scores, number(parts.scale)});
  show(0, scores);
  if (parts.softcap > 0) {
    const ValueId part = t.make("Tanh", {t.make("Mul", {scores, number(1 / parts.softcap)})});
    scores = t.make("Mul", {part, number(parts.softcap)});
  }
  show(1, scores);
  if (bias != no_value) scores = t.make("Add", {scores, bias});
  show(2, scores);
  ValueId sees_none = no_value;
  if (bias != no_value && zeroes_rows) {
    const ValueId most = t.make("ReduceMax", {bias, t.make_integers({-1})});
    sees_none = t.make("Equal", {most, number(no_score)});
  }
  ValueId probabilities = t.make("Softmax", {scores}, {{"axis", int64_t{-1}}});
  if (shown.mode == 3) {
    if (sees_none != no_value) probabilities = t.make("Where", {sees_none, number(0), probabilities});
    show(3, probabilities);
  }
  ValueId y = t.make("MatMul", {probabilities, v});
  if (sees_none != no_value && shown.mode != 3) y = t.make("Where", {sees_none, number(0), y});
  return ungroup(t, parts, y);
}

}  // namespace intarsia
