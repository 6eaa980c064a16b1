#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/reference/kernels/kernel_families.h"
#include "backends/reference/kernels/move.h"
#include "base/own_domain.h"

namespace intarsia::reference {
namespace {

/// Compares in a total order: NaN above everything, as numpy sorts.
template <typename T>
bool less(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

/// Returns k, an attribute before opset 10, then an input.
Result<int64_t> top_count(const KernelContext& context, int64_t size) {
  const int64_t k = context.has_input(1) ? TRY(input_int(context, 1)) : context.attributes().get_int("k", -1);
  if (k < 0 || k > size) return fail("k is {}, the axis has size {}", k, size);
  return k;
}

Status top_k(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", -1), x.shape.size()));
  const bool largest = context.attributes().get_int("largest", 1) != 0;
  const AxisSplit split = split_at_axis(x.shape, axis);
  const int64_t k = TRY(top_count(context, split.size));
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = k;
  Tensor values(x.dtype, shape);
  std::vector<int64_t> chosen(static_cast<size_t>(element_count(shape)));
  TRY(dispatch_number(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x);
    WriteAs<T> out(values.view());
    std::vector<int64_t> order(static_cast<size_t>(split.size));
    for (int64_t line = 0; line < split.outer * split.inner; ++line) {
      const int64_t first = line / split.inner * split.size * split.inner + line % split.inner;
      const auto at = [&](int64_t i) { return in[first + i * split.inner]; };
      std::iota(order.begin(), order.end(), int64_t{0});
      std::ranges::partial_sort(order, order.begin() + k, [&](int64_t a, int64_t b) {
        if (largest ? less<T>(at(b), at(a)) : less<T>(at(a), at(b))) return true;
        if (largest ? less<T>(at(a), at(b)) : less<T>(at(b), at(a))) return false;
        return a < b;
      });
      for (int64_t i = 0; i < k; ++i) {
        const int64_t to = (line / split.inner * k + i) * split.inner + line % split.inner;
        out[to] = at(order[static_cast<size_t>(i)]);
        chosen[static_cast<size_t>(to)] = order[static_cast<size_t>(i)];
      }
    }
    return {};
  }));
  if (context.wants_output(0)) copy_elements(values.view(), TRY(context.output(0, x.dtype, shape)));
  if (context.wants_output(1)) {
    std::ranges::copy(chosen, TRY(context.output(1, DType::i64, shape)).as<int64_t>().begin());
  }
  return {};
}

/// Writes the places of elements that are not zero, as columns or as rows.
Status write_places(KernelContext& context, bool as_rows) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  std::vector<int64_t> places;
  TRY(dispatch_number_or_bool(x.dtype, [&]<typename T>() -> Status {
    const ReadAs<T> in(x);
    for (int64_t i = 0; i < in.size(); ++i) {
      if (in[i] != T(0)) places.push_back(i);
    }
    return {};
  }));
  const auto rank = static_cast<int64_t>(x.shape.size());
  const auto count = static_cast<int64_t>(places.size());
  const Shape shape = as_rows ? Shape{count, rank} : Shape{rank, count};
  const TensorView y = TRY(context.output(0, DType::i64, shape));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = places[static_cast<size_t>(i)];
    for (int64_t axis = rank; axis-- > 0;) {
      const int64_t size = x.shape[static_cast<size_t>(axis)];
      y.as<int64_t>()[static_cast<size_t>(as_rows ? i * rank + axis : axis * count + i)] = rest % size;
      rest /= size;
    }
  }
  return {};
}

Status non_zero(KernelContext& context) { return write_places(context, false); }
Status non_zero_rows(KernelContext& context) { return write_places(context, true); }

/// Returns the tensor, as one axis if the attribute `axis` is absent, and the axis.
Result<std::pair<ConstTensorView, int64_t>> along_axis(const KernelContext& context) {
  ConstTensorView x = context.input(0);
  if (context.attributes().has("axis")) {
    const int64_t axis = TRY(resolve_axis(context.attributes().get_int("axis", 0), x.shape.size()));
    return std::pair(x, axis);
  }
  x.shape = {element_count(x.shape)};
  return std::pair(x, int64_t{0});
}

/// Sets output 0 to the slices of `x` at these places of the axis.
Status take_slices(KernelContext& context, const ConstTensorView& x, int64_t axis,
                   const std::vector<int64_t>& places) {
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] = static_cast<int64_t>(places.size());
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  if (element_count(shape) == 0) return {};
  AxisMaps maps;
  for (size_t i = 0; i < shape.size(); ++i) {
    maps.push_back(static_cast<int64_t>(i) == axis ? places : identity_map(shape[i]));
  }
  return copy_mapped(x, maps, nullptr, y);
}

Status compress(KernelContext& context) {
  TRY(require_inputs(context, 2));
  const auto [x, axis] = TRY(along_axis(context));
  const ConstTensorView& condition = context.input(1);
  if (condition.dtype != DType::boolean || condition.shape.size() != 1) {
    return fail("the condition is {} {}, want 1-D bool", dtype_name(condition.dtype),
                print_shape(condition.shape));
  }
  const int64_t size = x.shape[static_cast<size_t>(axis)];
  std::vector<int64_t> places;
  for (int64_t i = 0; i < condition.shape[0]; ++i) {
    if (!condition.as<bool>()[static_cast<size_t>(i)]) continue;
    if (i >= size) return fail("the condition selects {}, the axis has size {}", i, size);
    places.push_back(i);
  }
  return take_slices(context, x, axis, places);
}

struct Groups {
  std::vector<int64_t> first;    // first occurrence of each distinct slice
  std::vector<int64_t> inverse;  // group of each slice
  std::vector<int64_t> counts;
};

/// Order in which groups of slices are: that of the slices, where NaN is the last and equals NaN, or that of
/// their places, where a slice with NaN may equal no other.
enum class GroupOrder { slices, places, places_and_nan_apart };

/// Groups slices, which in sorted order make runs of equal ones; `compare(a, b)` is negative, 0 or positive.
/// A slice for which is_apart() is true is a group of its own.
template <typename Compare, typename IsApart>
Groups group_slices(int64_t size, bool sorted, Compare compare, IsApart is_apart) {
  std::vector<int64_t> order = identity_map(size);
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  Groups groups;
  groups.inverse.resize(static_cast<size_t>(size));
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0 || is_apart(order[i])) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(groups.first.size()) - 1;
  }
  if (sorted) return groups;
  std::vector<int64_t> by_place = identity_map(static_cast<int64_t>(groups.first.size()));
  std::ranges::sort(by_place, {}, [&](int64_t group) { return groups.first[static_cast<size_t>(group)]; });
  Groups result = groups;
  std::vector<int64_t> renamed(by_place.size());
  for (size_t i = 0; i < by_place.size(); ++i) {
    const auto old = static_cast<size_t>(by_place[i]);
    result.first[i] = groups.first[old];
    result.counts[i] = groups.counts[old];
    renamed[old] = static_cast<int64_t>(i);
  }
  for (int64_t& group : result.inverse) group = renamed[static_cast<size_t>(group)];
  return result;
}

template <typename T, typename In>
Groups group_values(const In& in, const AxisSplit& split, GroupOrder order) {
  // Calls visit with the places of the elements of a slice until it returns false.
  const auto all_of_slice = [&](int64_t slice, auto visit) {
    for (int64_t o = 0; o < split.outer; ++o)
      for (int64_t i = 0; i < split.inner; ++i)
        if (!visit((o * split.size + slice) * split.inner + i)) return false;
    return true;
  };
  const auto compare = [&](int64_t a, int64_t b) {
    int result = 0;
    all_of_slice(a, [&](int64_t place) {
      const T &left = in[place], &right = in[place + (b - a) * split.inner];
      result = less<T>(left, right) ? -1 : less<T>(right, left) ? 1 : 0;
      return result == 0;
    });
    return result;
  };
  const auto is_apart = [&](int64_t slice) {
    if (order != GroupOrder::places_and_nan_apart) return false;
    return !all_of_slice(slice, [&](int64_t place) { return in[place] == in[place]; });
  };
  return group_slices(split.size, order == GroupOrder::slices, compare, is_apart);
}

Result<Groups> find_groups(const ConstTensorView& x, int64_t axis, GroupOrder order) {
  const AxisSplit split = split_at_axis(x.shape, axis);
  if (split.size > 0 && split.outer * split.inner == 0)
    return fail("slices of shape {} are empty", print_shape(x.shape));
  if (x.dtype == DType::string) return group_values<std::string>(ReadElements<std::string>(x), split, order);
  Groups groups;
  TRY(dispatch_number_or_bool(x.dtype, [&]<typename T>() -> Status {
    groups = group_values<T>(ReadAs<T>(x), split, order);
    return {};
  }));
  return groups;
}

/// Sets an output to a list of places or counts.
Status give_list(KernelContext& context, size_t output, DType dtype, const std::vector<int64_t>& list) {
  if (!context.wants_output(output)) return {};
  const TensorView y = TRY(context.output(output, dtype, {std::ssize(list)}));
  if (dtype == DType::i64)
    std::ranges::copy(list, y.as<int64_t>().begin());
  else
    std::ranges::transform(list, y.as<int32_t>().begin(),
                           [](int64_t number) { return static_cast<int32_t>(number); });
  return {};
}

Status unique(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const auto [x, axis] = TRY(along_axis(context));
  const bool is_sorted = context.attributes().get_int("sorted", 1) != 0;
  const Groups groups = TRY(find_groups(x, axis, is_sorted ? GroupOrder::slices : GroupOrder::places));
  if (context.wants_output(0)) TRY(take_slices(context, x, axis, groups.first));
  TRY(give_list(context, 1, DType::i64, groups.first));
  TRY(give_list(context, 2, DType::i64, groups.inverse));
  return give_list(context, 3, DType::i64, groups.counts);
}

/// Gives distinct slices, groups and counts, as i32 or i64.
Status unique_in_order(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const auto [x, axis] = TRY(along_axis(context));
  const auto i64 = static_cast<int64_t>(DType::i64);
  const DType dtype = context.attributes().get_int("index_type", 0) == i64 ? DType::i64 : DType::i32;
  const Groups groups = TRY(find_groups(x, axis, GroupOrder::places_and_nan_apart));
  if (context.wants_output(0)) TRY(take_slices(context, x, axis, groups.first));
  TRY(give_list(context, 1, dtype, groups.inverse));
  return give_list(context, 2, dtype, groups.counts);
}

constexpr KernelEntry selection_rows[] = {
    {"Compress", "", compress}, {"NonZero", "", non_zero}, {"NonZeroRows", own_domain, non_zero_rows},
    {"TopK", "", top_k},        {"Unique", "", unique},    {"UniqueInOrder", own_domain, unique_in_order},
};

}  // namespace

std::span<const KernelEntry> selection_kernels() { return selection_rows; }

}  // namespace intarsia::reference
