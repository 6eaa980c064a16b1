// Boxes that non-maximum suppression leaves: for each image and class the best first, without those that
// overlap one that is left.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backends/halide/abi/counted.h"
#include "backends/halide/routines/routine.h"

namespace intarsia::halide::routines {
namespace {

struct Box {
  double top, left, bottom, right, area;
};

Box read_box(const float* numbers, int64_t stride, bool is_centered) {
  const double a = numbers[0], b = numbers[stride], c = numbers[2 * stride], d = numbers[3 * stride];
  Box box = is_centered ? Box{b - d / 2, a - c / 2, b + d / 2, a + c / 2, 0}
                        : Box{std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d), 0};
  box.area = (box.bottom - box.top) * (box.right - box.left);
  return box;
}

double intersection_over_union(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
               width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0 && width > 0 && a.area > 0 && b.area > 0)) return 0;
  const double shared = height * width;
  return shared / (a.area + b.area - shared);
}

/// Returns a number that is less where the score is greater. NaN is the least score.
uint32_t order_of(float score) {
  if (std::isnan(score)) score = -std::numeric_limits<float>::infinity();
  const uint32_t bits = std::bit_cast<uint32_t>(score + 0.0F), sign = uint32_t{1} << 31;
  return ~((bits & sign) != 0 ? ~bits : bits | sign);
}

struct Rule {
  int64_t most;
  float overlap, score;
  bool has_score, is_centered;
};

/// Memory for the boxes of a class: candidates, an order and, in the low 32 bits, a place, and those left.
struct Candidates {
  Room<uint64_t> entries;
  Room<Box> left;

  Candidates(void* context, int64_t boxes, int64_t most)
      : entries(context, static_cast<size_t>(std::max<int64_t>(boxes, 1))),
        left(context, static_cast<size_t>(std::max<int64_t>(most, 1))) {}
  bool has_room() const { return entries.get() != nullptr && left.get() != nullptr; }
};

/// Calls `take` with the place of each box of a class that is left.
template <typename Take>
void suppress(const Rule& rule, const HalideBuffer& boxes, int64_t image, const float* scores, int64_t stride,
              int64_t all, const Candidates& room, const Take& take) {
  int64_t count = 0, left = 0;
  for (int64_t i = 0; i < all; ++i)
    if (const float score = scores[i * stride]; !rule.has_score || score > rule.score)
      room.entries.get()[count++] = uint64_t{order_of(score)} << 32 | static_cast<uint32_t>(i);
  std::sort(room.entries.get(), room.entries.get() + count);
  for (int64_t c = 0; c < count && left < rule.most; ++c) {
    const int64_t place = static_cast<uint32_t>(room.entries.get()[c]);
    const float* numbers =
        first<const float>(boxes) + image * boxes.dim[0].stride + place * boxes.dim[1].stride;
    const Box box = read_box(numbers, boxes.dim[2].stride, rule.is_centered);
    const bool is_covered = std::any_of(room.left.get(), room.left.get() + left, [&](const Box& other) {
      return intersection_over_union(box, other) > rule.overlap;
    });
    if (is_covered) continue;
    room.left.get()[left++] = box;
    take(place);
  }
}

int non_max_suppression(void* context, const Rule& rule, const HalideBuffer& boxes,
                        const HalideBuffer& scores, const HalideBuffer& output) {
  const int64_t images = std::min(boxes.dim[0].extent, scores.dim[0].extent),
                all = std::min(boxes.dim[1].extent, scores.dim[2].extent);
  const Candidates room(context, all, rule.most);
  if (!room.has_room()) return halide_error_out_of_memory(context);
  auto* rows = reinterpret_cast<int64_t*>(output.host + counted_header);
  int64_t count = 0;
  for (int64_t image = 0; image < images; ++image)
    for (int64_t of_class = 0; of_class < scores.dim[1].extent; ++of_class) {
      const float* row =
          first<const float>(scores) + image * scores.dim[0].stride + of_class * scores.dim[1].stride;
      suppress(rule, boxes, image, row, scores.dim[2].stride, all, room, [&](int64_t place) {
        const int64_t found[] = {image, of_class, place};
        std::copy_n(found, 3, rows + 3 * count++);
      });
    }
  std::memcpy(output.host, &count, sizeof(count));
  return 0;
}

}  // namespace

extern "C" {

int intarsia_non_max_suppression(void* context, HalideBuffer* boxes, HalideBuffer* scores, HalideBuffer* most,
                                 HalideBuffer* overlap, HalideBuffer* score, int has_score, int is_centered,
                                 HalideBuffer* output) {
  if (is_question(*boxes, *output)) return 0;
  const int64_t wanted = *first<const int64_t>(*most), all = boxes->dim[1].extent;
  const Rule rule{std::clamp<int64_t>(wanted, 0, all), *first<const float>(*overlap),
                  *first<const float>(*score), has_score != 0, is_centered != 0};
  return non_max_suppression(context, rule, *boxes, *scores, *output);
}
}

}  // namespace intarsia::halide::routines
