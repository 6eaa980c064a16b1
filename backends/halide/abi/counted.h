// Outputs whose size a kernel counts: a header, then as many elements as there are. They are elsewhere if the
// caller has memory for just as many.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intarsia::halide {

struct CountedHeader {
  int64_t count = 0;        // set by the kernel: size of the counted axis
  void* offered = nullptr;  // memory of the caller, aligned to elements, or null
  uint64_t inverted = 0;    // complement of that address: other bytes, which damaged plans put here, are none
  int64_t offered_count = 0;  // count for which the kernel may write the elements there
  int64_t is_offered = 0;     // set by the kernel: 1 if it wrote them there
};

/// What a NonMaxSuppression gives of the boxes that are left: counted rows of an image, a class and a place,
/// or, of one image and class, counted places or scores, their number, or a fixed number of places, as many
/// scores and the number of boxes, all as i32.
enum class BoxParts : uint8_t { rows, places, scores, number, padded };

/// Bytes of the header; what follows it is aligned as memory of its own.
inline constexpr size_t counted_header = 64;
static_assert(sizeof(CountedHeader) <= counted_header);

}  // namespace intarsia::halide
