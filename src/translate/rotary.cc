#include "translate/rotary.h"

namespace intarsia {

namespace {

/// Turns pairs whose halves are apart, all of `x`: each half times the cosine, plus the other half, which of
/// the first is negative, times the sine.
ValueId rotate_halves(Translation& t, const RotaryParts& parts, ValueId x) {
  const int64_t half = parts.rotated / 2;
  const ValueId halves = t.make("Reshape", {x, t.make_integers({0, 0, 0, 2, half})});
  const ValueId others = t.make("Slice", {halves, t.make_integers({1}), t.make_integers({-3}),
                                          t.make_integers({-2}), t.make_integers({-1})});
  const ValueId signs = t.cast(t.make("Reshape", {t.make_integers({-1, 1}), t.make_integers({2, 1})}),
                               computed_type(t.dtype(0)));
  const auto of_both = [&](ValueId factor) { return t.unsqueeze(factor, {-2}); };
  const ValueId across = t.make("Mul", {t.make("Mul", {others, signs}), of_both(parts.sine)});
  const ValueId along = t.make("Mul", {halves, of_both(parts.cosine)});
  return t.make("Reshape", {t.make("Add", {across, along}), t.make_integers({0, 0, 0, parts.rotated})});
}

/// Turns pairs of neighbors, all of `x`.
ValueId rotate_neighbors(Translation& t, const RotaryParts& parts, ValueId x) {
  const auto part = [&](int64_t first) {
    return t.make("Slice", {x, t.make_integers({first}), t.make_integers({parts.rotated}),
                            t.make_integers({-1}), t.make_integers({2})});
  };
  const ValueId a = part(0), b = part(1);
  const auto times = [&](ValueId factor, ValueId value) { return t.make("Mul", {value, factor}); };
  std::vector<ValueId> turned{t.make("Sub", {times(parts.cosine, a), times(parts.sine, b)}),
                              t.make("Add", {times(parts.sine, a), times(parts.cosine, b)})};
  for (ValueId& value : turned) value = t.unsqueeze(value, {-1});
  const ValueId both = t.make("Concat", turned, {{"axis", int64_t{-1}}});
  return t.make("Reshape", {both, t.make_integers({0, 0, 0, parts.rotated})});
}

}  // namespace

Result<ValueId> rotate(Translation& t, const RotaryParts& parts, ValueId x) {
  if (parts.rotated < 2 || parts.rotated > parts.size || parts.rotated % 2 != 0)
    return fail("{} of {} elements of a head cannot be rotated", parts.rotated, parts.size);
  const bool is_whole = parts.rotated == parts.size;
  const ValueId first = is_whole ? x : t.slice(x, -1, 0, parts.rotated);
  const ValueId turned =
      parts.is_interleaved ? rotate_neighbors(t, parts, first) : rotate_halves(t, parts, first);
  if (is_whole) return turned;
  return t.make("Concat", {turned, t.slice(x, -1, parts.rotated, parts.size)}, {{"axis", int64_t{-1}}});
}

}  // namespace intarsia
