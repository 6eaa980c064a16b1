#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "translate/rules.h"

namespace intarsia {
namespace {

constexpr int64_t to_the_end = std::numeric_limits<int64_t>::max(),
                  before_the_start = std::numeric_limits<int64_t>::min() + 1;

/// Start or end of a slice along an axis: a number, or an element of an input plus a number.
struct Bound {
  int64_t number = 0;
  std::optional<size_t> element = {};
};

/// Returns the bound that element `i` of a list is.
Bound bound_of(const std::vector<Dim>& list, size_t i) {
  if (list[i].is_number()) return {list[i].number()};
  return {0, i};
}

/// Makes a tensor of the bounds; elements are those of `input`.
ValueId make_bounds(Translation& t, size_t input, const std::vector<Bound>& bounds) {
  if (std::ranges::none_of(bounds, [](const Bound& bound) { return bound.element.has_value(); })) {
    std::vector<int64_t> numbers;
    for (const Bound& bound : bounds) numbers.push_back(bound.number);
    return t.make_integers(numbers);
  }
  const ValueId elements = t.integers_input(input);
  std::vector<ValueId> pieces;
  for (const Bound& bound : bounds) {
    ValueId piece = t.make_integers({bound.number});
    if (bound.element) {
      const ValueId at = t.make_integers({static_cast<int64_t>(*bound.element)});
      const ValueId element = t.make("Gather", {elements, at}, {{"axis", int64_t{0}}});
      piece = bound.number == 0 ? element : t.make("Add", {element, piece});
    }
    pieces.push_back(piece);
  }
  return t.make("Concat", std::move(pieces), {{"axis", int64_t{0}}});
}

/// Translates Slice; sizes of -1 reach to the end.
Status slice(Translation& t) {
  const std::vector<int64_t> begins = TRY(t.integers(1));
  const std::vector<Dim> sizes = TRY(t.elements(2));
  if (begins.size() != sizes.size()) return fail("{} begins and {} sizes", begins.size(), sizes.size());
  if (std::ranges::any_of(begins, [](int64_t begin) { return begin < 0; })) return fail("a begin below 0");
  std::vector<int64_t> axes(begins.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::vector<Bound> ends;
  for (size_t i = 0; i < begins.size(); ++i) {
    Bound end = bound_of(sizes, i);
    const bool is_open = !end.element && (end.number == -1 || end.number > to_the_end - begins[i]);
    end.number = is_open ? to_the_end : begins[i] + end.number;
    ends.push_back(end);
  }
  t.give(0, t.make("Slice",
                   {t.input(0), t.make_integers(begins), make_bounds(t, 2, ends), t.make_integers(axes)}));
  return {};
}

/// Specification of a strided slice, one entry per axis that it names.
struct Specification {
  std::vector<Dim> begins, ends;
  std::vector<int64_t> strides;
  int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
  bool has(int64_t mask, size_t i) const { return (mask >> i & 1) != 0; }
};

Result<Specification> read_specification(const Translation& t) {
  const Attributes& a = t.attributes();
  Specification spec{TRY(t.elements(1)),
                     TRY(t.elements(2)),
                     TRY(t.integers(3)),
                     a.get_int("begin_mask", 0),
                     a.get_int("end_mask", 0),
                     a.get_int("ellipsis_mask", 0),
                     a.get_int("new_axis_mask", 0),
                     a.get_int("shrink_axis_mask", 0)};
  constexpr size_t max_axes = 32;
  if (spec.begins.size() > max_axes || spec.ends.size() != spec.begins.size() ||
      spec.strides.size() != spec.begins.size())
    return fail("begins, ends and strides differ in length");
  return spec;
}

/// Translates numpy's indexing: first the ranges, then the removed axes, then the new ones.
Status strided_slice(Translation& t) {
  const Specification spec = TRY(read_specification(t));
  const SymbolicShape shape = TRY(t.sizes(0));
  const int64_t rank = static_cast<int64_t>(shape.size());
  int64_t named = 0;
  for (size_t i = 0; i < spec.begins.size(); ++i)
    named += !spec.has(spec.ellipsis_mask, i) && !spec.has(spec.new_axis_mask, i);
  if (named > rank) return fail("it names {} axes of an input of rank {}", named, rank);
  std::vector<Bound> starts, ends;
  std::vector<int64_t> steps, axes, dropped, added;
  std::vector<std::pair<int64_t, int64_t>> picked;  // elements of open axes, which a run checks
  int64_t axis = 0, result_axis = 0;
  for (size_t i = 0; i < spec.begins.size(); ++i) {
    if (spec.has(spec.ellipsis_mask, i)) {
      axis += rank - named;
      result_axis += rank - named;
      continue;
    }
    if (spec.has(spec.new_axis_mask, i)) {
      added.push_back(result_axis++);
      continue;
    }
    if (axis >= rank) return fail("it names more axes than the {} of its input", rank);
    const int64_t stride = spec.strides[i];
    const Dim& size = shape[static_cast<size_t>(axis)];
    if (stride == 0) return fail("stride 0");
    if (spec.has(spec.shrink_mask, i)) {
      if (!spec.begins[i].is_number()) return fail("an element whose number depends on sizes");
      const int64_t begin = spec.begins[i].number();
      if (!size.is_number()) {
        picked.emplace_back(axis, begin);
        dropped.push_back(axis++);
        continue;
      }
      const int64_t at = begin < 0 ? begin + size.number() : begin;
      if (at < 0 || at >= size.number()) return fail("element {} of {}", begin, size.number());
      starts.push_back({at});
      ends.push_back({at + 1});
      steps.push_back(1);
      axes.push_back(axis);
      dropped.push_back(axis++);
      continue;
    }
    const int64_t first = stride > 0 ? 0 : to_the_end, last = stride > 0 ? to_the_end : before_the_start;
    starts.push_back(spec.has(spec.begin_mask, i) ? Bound{first} : bound_of(spec.begins, i));
    ends.push_back(spec.has(spec.end_mask, i) ? Bound{last} : bound_of(spec.ends, i));
    steps.push_back(stride);
    axes.push_back(axis++);
    ++result_axis;
  }
  ValueId value = t.input(0);
  if (!axes.empty())
    value = t.make("Slice", {value, make_bounds(t, 1, starts), make_bounds(t, 2, ends), t.make_integers(axes),
                             t.make_integers(steps)});
  for (const auto& [from, element] : picked)
    value = t.make("Gather", {value, t.make_integers({element})}, {{"axis", from}});
  if (!dropped.empty()) value = t.make("Squeeze", {value, t.make_integers(dropped)});
  if (!added.empty()) value = t.make("Unsqueeze", {value, t.make_integers(added)});
  t.give(0, value);
  return {};
}

Status reverse(Translation& t) {
  std::vector<int64_t> axes = TRY(t.integers(1));
  const int64_t rank = TRY(t.rank(0));
  for (int64_t& axis : axes) axis = TRY(normal_axis(axis, rank));
  if (axes.empty()) {
    t.give(0, t.input(0));
    return {};
  }
  const std::vector<int64_t> last(axes.size(), -1), before(axes.size(), before_the_start),
      back(axes.size(), -1);
  t.give(0, t.make("Slice", {t.input(0), t.make_integers(last), t.make_integers(before),
                             t.make_integers(axes), t.make_integers(back)}));
  return {};
}

Status reverse_sequence(Translation& t) {
  const int64_t batch = t.attributes().get_int("batch_dim", 0), time = t.attributes().get_int("seq_dim", 0);
  if (batch > 1 || time > 1 || batch == time) return fail("along axes {} and {}", batch, time);
  t.give(0, t.make("ReverseSequence", {t.input(0), t.cast(t.input(1), DType::i64)},
                   {{"batch_axis", batch}, {"time_axis", time}}));
  return {};
}

constexpr TranslationRow slicing_rows[] = {
    {"Slice", slice},
    {"StridedSlice", strided_slice},
    {"ReverseV2", reverse},
    {"ReverseSequence", reverse_sequence},
};

}  // namespace

std::span<const TranslationRow> slicing_translations() { return slicing_rows; }

}  // namespace intarsia
