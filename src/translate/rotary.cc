#include "translate/rotary.h"

namespace intarsia {

Result<ValueId> rotate(Translation& t, const RotaryParts& parts, ValueId x) {
  const int64_t half = parts.rotated / 2;
  if (parts.rotated < 2 || parts.rotated > parts.size || parts.rotated % 2 != 0)
    return fail("{} of {} elements of a head cannot be rotated", parts.rotated, parts.size);
  const auto part = [&](int64_t first, int64_t step, int64_t end) {
    return t.make("Slice", {x, t.make_integers({first}), t.make_integers({end}), t.make_integers({-1}),
                            t.make_integers({step})});
  };
  const bool pairs = parts.is_interleaved;
  const ValueId a = pairs ? part(0, 2, parts.rotated) : part(0, 1, half);
  const ValueId b = pairs ? part(1, 2, parts.rotated) : part(half, 1, parts.rotated);
  const auto times = [&](ValueId factor, ValueId value) { return t.make("Mul", {value, factor}); };
  ValueId first = t.make("Sub", {times(parts.cosine, a), times(parts.sine, b)});
  ValueId second = t.make("Add", {times(parts.sine, a), times(parts.cosine, b)});
  std::vector<ValueId> turned{first, second};
  if (pairs) {
    for (ValueId& value : turned) value = t.unsqueeze(value, {-1});
    const ValueId both = t.make("Concat", turned, {{"axis", int64_t{-1}}});
    turned = {t.make("Reshape", {both, t.make_integers({0, 0, 0, parts.rotated})})};
  }
  if (parts.rotated < parts.size) turned.push_back(part(parts.rotated, 1, parts.size));
  return turned.size() == 1 ? turned[0] : t.make("Concat", turned, {{"axis", int64_t{-1}}});
}

}  // namespace intarsia
