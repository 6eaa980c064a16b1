// Elements that their values choose: places of those that are not zero, slices that a condition takes. How
// many there are is known only then, and put before them (abi/counted.h).
#include <algorithm>
#include <cstdint>

#include "backends/halide/routines/counted_output.h"
#include "backends/halide/routines/routine.h"

namespace intarsia::halide::routines {
namespace {

constexpr int max_axes = 16;

bool is_empty(const HalideBuffer& buffer) {
  for (int axis = 0; axis < buffer.dimensions; ++axis)
    if (buffer.dim[axis].extent == 0) return true;
  return false;
}

/// Calls visit(row, index) for each row along the last axis, in row-major order, with the address of its
/// first element and the index of that.
template <typename Visit>
void visit_rows(const HalideBuffer& x, const Visit& visit) {
  if (is_empty(x)) return;
  int64_t index[max_axes] = {};
  const int64_t bytes = x.type.bits / 8;
  for (int axis = 0; axis >= 0;) {
    int64_t offset = 0;
    for (int i = 0; i + 1 < x.dimensions; ++i) offset += index[i] * x.dim[i].stride;
    visit(x.host + offset * bytes, index);
    for (axis = x.dimensions - 2; axis >= 0 && ++index[axis] == x.dim[axis].extent; --axis) index[axis] = 0;
  }
}

/// Writes the places of true elements: all of the first axis, then all of the next, or one after the other. A
/// place along no axis has no numbers.
template <bool as_rows>
int non_zero(const HalideBuffer& flags, bool has_axes, const HalideBuffer& output) {
  const int axes = flags.dimensions, last = axes - 1;
  const int64_t size = flags.dim[last].extent, stride = flags.dim[last].stride;
  int64_t count = 0;
  visit_rows(flags, [&](const uint8_t* row, const int64_t*) {
    int64_t in_row = 0;
    for (int64_t i = 0; i < size; ++i) in_row += row[i * stride] != 0;
    count += in_row;
  });
  auto* places = reinterpret_cast<int64_t*>(set_count(output, count));
  if (!has_axes) return 0;
  const int64_t by_axis = as_rows ? 1 : count, by_place = as_rows ? axes : 1;
  int64_t at = 0;
  visit_rows(flags, [&](const uint8_t* row, const int64_t* index) {
    const int64_t first = at;
    for (int64_t i = 0; i < size; ++i)
      if (row[i * stride] != 0) places[last * by_axis + at++ * by_place] = i;
    for (int axis = 0; axis < last; ++axis)
      for (int64_t place = first; place < at; ++place)
        places[axis * by_axis + place * by_place] = index[axis];
  });
  return 0;
}

/// Takes the slices along the middle one of three axes that a condition, which may be shorter, says.
int compress(void* context, const HalideBuffer& x, const HalideBuffer& condition,
             const HalideBuffer& output) {
  const int64_t bytes = x.type.bits / 8, outer = x.dim[0].extent, inner = x.dim[2].extent;
  const int64_t tests = std::min(condition.dim[0].extent, x.dim[1].extent);
  const Room<int64_t> places(context, static_cast<size_t>(tests) + 1);
  if (places.get() == nullptr) return halide_error_out_of_memory(context);
  int64_t count = 0;
  for (int64_t i = 0; i < tests; ++i) {
    places.get()[count] = i;
    count += condition.host[i * condition.dim[0].stride] != 0;
  }
  uint8_t* const to = set_count(output, count);
  visit_parts(context, outer * count, inner, [&](int64_t first, int64_t last) {
    int64_t block = first / std::max<int64_t>(count, 1), at = first - block * count;
    for (int64_t i = first; i < last; ++i) {
      const int64_t from = block * x.dim[0].stride + places.get()[at] * x.dim[1].stride;
      copy_elements(to + i * inner * bytes, x.host + from * bytes, inner, x.dim[2].stride, bytes);
      if (++at == count) ++block, at = 0;
    }
  });
  return 0;
}

}  // namespace

extern "C" {

int intarsia_non_zero(HalideBuffer* flags, int axes, int as_rows, HalideBuffer* output) {
  if (is_question(*flags, *output)) return 0;
  return as_rows != 0 ? non_zero<true>(*flags, axes > 0, *output)
                      : non_zero<false>(*flags, axes > 0, *output);
}

int intarsia_compress(void* context, HalideBuffer* x, HalideBuffer* condition, HalideBuffer* output) {
  return is_question(*x, *output) ? 0 : compress(context, *x, *condition, *output);
}
}

}  // namespace intarsia::halide::routines
