// Elements put back where a MaxPool took them from, in planes of zeros.
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "backends/halide/routines/routine.h"

namespace intarsia::halide::routines {
namespace {

constexpr int failed = -1;

/// Planes of elements, and where they go in the flattened output. A plane whose elements all stay in it is
/// written while a core's cache has it.
template <typename T>
class Planes {
 public:
  Planes(const HalideBuffer& x, const HalideBuffer& places, const HalideBuffer& output)
      : x_(x), places_(places), output_(output) {}

  /// Fills a plane; returns false if one of its elements belongs elsewhere.
  bool fill(int64_t plane) const {
    const int64_t first = plane * size();
    if (leaves(plane, first)) return false;
    clear(plane);
    T* const to = row<T>(output_, plane);
    visit(plane, [&](T value, int64_t place) { to[(place - first) * output_.dim[1].stride] = value; });
    return true;
  }

  /// Fills all planes in the order of the elements, of which the last one counts. Returns false at a place
  /// outside of all.
  bool fill_all(int64_t& outside) const {
    for (int64_t plane = 0; plane < count(); ++plane) clear(plane);
    bool is_inside = true;
    for (int64_t plane = 0; plane < count(); ++plane)
      visit(plane, [&](T value, int64_t place) {
        if (place >= 0 && place < count() * size()) {
          row<T>(output_, place / size())[place % size() * output_.dim[1].stride] = value;
        } else if (is_inside) {
          is_inside = false, outside = place;
        }
      });
    return is_inside;
  }

  int64_t count() const { return output_.dim[0].extent; }
  int64_t size() const { return output_.dim[1].extent; }

 private:
  template <typename Number>
  static Number* row(const HalideBuffer& buffer, int64_t plane) {
    return first<Number>(buffer) + plane * buffer.dim[0].stride;
  }

  void clear(int64_t plane) const {
    T* const to = row<T>(output_, plane);
    if (output_.dim[1].stride == 1)
      std::fill_n(to, size(), T{0});
    else
      for (int64_t i = 0; i < size(); ++i) to[i * output_.dim[1].stride] = 0;
  }

  /// Checks whether an element of a plane is outside of it. The sign bit of a difference says on which side
  /// of a limit a place is; a loop without branches uses vectors.
  bool leaves(int64_t plane, int64_t first) const {
    const auto low = static_cast<uint64_t>(first), high = static_cast<uint64_t>(first + size() - 1);
    uint64_t outside = 0;
    const int64_t *const places = row<const int64_t>(places_, plane), stride = places_.dim[1].stride;
    const auto look = [&](int64_t place) {
      outside |= (static_cast<uint64_t>(place) - low) | (high - static_cast<uint64_t>(place));
    };
    const int64_t extent = places_.dim[1].extent;
    if (stride == 1)
      for (int64_t i = 0; i < extent; ++i) look(places[i]);
    else
      for (int64_t i = 0; i < extent; ++i) look(places[i * stride]);
    return outside >> 63 != 0;
  }

  template <typename Visit>
  void visit(int64_t plane, const Visit& put) const {
    const T* const values = row<const T>(x_, plane);
    const int64_t* const places = row<const int64_t>(places_, plane);
    const int64_t next_value = x_.dim[1].stride, next_place = places_.dim[1].stride;
    for (int64_t i = 0; i < x_.dim[1].extent; ++i) put(values[i * next_value], places[i * next_place]);
  }

  const HalideBuffer &x_, &places_, &output_;
};

template <typename T>
int unpool(void* context, const HalideBuffer& x, const HalideBuffer& places, const HalideBuffer& output) {
  const Planes<T> planes(x, places, output);
  const Room<uint8_t> strays(context, static_cast<size_t>(planes.count()) + 1);
  if (strays.get() == nullptr) return halide_error_out_of_memory(context);
  visit_parts(context, planes.count(), planes.size(), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) strays.get()[plane] = !planes.fill(plane);
  });
  const uint8_t* const end = strays.get() + planes.count();
  if (std::find(strays.get(), const_cast<uint8_t*>(end), 1) == end) return 0;
  int64_t outside = 0;
  if (planes.fill_all(outside)) return 0;
  char message[96];
  std::snprintf(message, sizeof message, "index %lld is out of range 0 to %lld",
                static_cast<long long>(outside), static_cast<long long>(planes.count() * planes.size() - 1));
  halide_error(context, message);
  return failed;
}

}  // namespace

extern "C" {

/// MaxUnpool of planes [planes, elements] of any type.
int intarsia_max_unpool(void* context, HalideBuffer* x, HalideBuffer* places, HalideBuffer* output) {
  if (is_question(*x, *output)) return 0;
  switch (x->type.bits) {
    case 8:
      return unpool<uint8_t>(context, *x, *places, *output);
    case 16:
      return unpool<uint16_t>(context, *x, *places, *output);
    case 32:
      return unpool<uint32_t>(context, *x, *places, *output);
    default:
      return unpool<uint64_t>(context, *x, *places, *output);
  }
}
}

}  // namespace intarsia::halide::routines
