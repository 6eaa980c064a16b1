// Boxes that non-maximum suppression leaves: for each image and class the best first, without those that
// overlap one that is left.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "backends/halide/routines/counted_output.h"
#include "backends/halide/routines/routine.h"

namespace intarsia::halide::routines {
namespace {

template <typename Number>
struct Box {
  Number top, left, bottom, right, area;
};

template <typename Number>
Box<Number> read_box(const float* numbers, int64_t stride, bool is_centered) {
  const Number a = numbers[0], b = numbers[stride], c = numbers[2 * stride], d = numbers[3 * stride];
  Box<Number> box = is_centered
                        ? Box<Number>{b - d / 2, a - c / 2, b + d / 2, a + c / 2, 0}
                        : Box<Number>{std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d), 0};
  box.area = (box.bottom - box.top) * (box.right - box.left);
  return box;
}

/// Boxes that are left, each number in an array of its own. Overlaps are rounded as such numbers.
template <typename Number>
class Boxes {
 public:
  Boxes(void* context, int64_t most) : most_(most), room_(context, static_cast<size_t>(5 * most) + 1) {}

  bool has_room() const { return room_.get() != nullptr; }
  int64_t count() const { return count_; }
  void clear() { count_ = 0; }

  void add(const Box<Number>& box) {
    const Number numbers[] = {box.top, box.left, box.bottom, box.right, box.area};
    for (int i = 0; i < 5; ++i) room_.get()[i * most_ + count_] = numbers[i];
    ++count_;
  }

  /// Checks whether the intersection of a box and some other is more than this share of their union.
  bool overlap(const Box<Number>& box, float share) const {
    constexpr int64_t block = 16;
    for (int64_t first = 0; first < count_; first += block)
      if (overlap(box, share, first, std::min(first + block, count_))) return true;
    return false;
  }

 private:
  bool overlap(const Box<Number>& box, float share, int64_t first, int64_t last) const {
    const Number *top = room_.get(), *left = top + most_, *bottom = left + most_, *right = bottom + most_,
                 *area = right + most_;
    int overlapping = 0;
    for (int64_t i = first; i < last; ++i) {
      const Number height = std::min(box.bottom, bottom[i]) - std::max(box.top, top[i]),
                   width = std::min(box.right, right[i]) - std::max(box.left, left[i]);
      const Number shared = height * width, ratio = shared / (box.area + area[i] - shared);
      const bool meet = (height > 0) & (width > 0) & (box.area > 0) & (area[i] > 0);
      overlapping |= static_cast<int>((meet ? ratio : 0) > share);
    }
    return overlapping != 0;
  }

  int64_t most_, count_ = 0;
  Room<Number> room_;
};

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

/// Calls `take` with the place of each box of a class that is left. Candidates are an order and, in the low
/// 32 bits, a place.
template <typename Number, typename Take>
void suppress(const Rule& rule, const HalideBuffer& boxes, int64_t image, const float* scores, int64_t stride,
              int64_t all, uint64_t* candidates, Boxes<Number>& left, const Take& take) {
  int64_t count = 0;
  for (int64_t i = 0; i < all; ++i) {
    const float score = scores[i * stride];
    candidates[count] = uint64_t{order_of(score)} << 32 | static_cast<uint32_t>(i);
    count += static_cast<int64_t>(!rule.has_score || score > rule.score);
  }
  std::make_heap(candidates, candidates + count, std::greater<>());  // few of them may be needed
  left.clear();
  for (; count > 0 && left.count() < rule.most; --count) {
    std::pop_heap(candidates, candidates + count, std::greater<>());
    const int64_t place = static_cast<uint32_t>(candidates[count - 1]);
    const float* numbers =
        first<const float>(boxes) + image * boxes.dim[0].stride + place * boxes.dim[1].stride;
    const Box<Number> box = read_box<Number>(numbers, boxes.dim[2].stride, rule.is_centered);
    if (left.overlap(box, rule.overlap)) continue;
    left.add(box);
    take(place);
  }
}

/// Calls write(number, image, class, place) for each box that is left.
template <typename Number, typename Write>
int non_max_suppression(void* context, const Rule& rule, const HalideBuffer& boxes,
                        const HalideBuffer& scores, const HalideBuffer& output, const Write& write) {
  const int64_t images = std::min(boxes.dim[0].extent, scores.dim[0].extent),
                all = std::min(boxes.dim[1].extent, scores.dim[2].extent);
  const Room<uint64_t> candidates(context, static_cast<size_t>(all) + 1);
  Boxes<Number> left(context, rule.most);
  if (candidates.get() == nullptr || !left.has_room()) return halide_error_out_of_memory(context);
  int64_t count = 0;
  for (int64_t image = 0; image < images; ++image)
    for (int64_t of_class = 0; of_class < scores.dim[1].extent; ++of_class) {
      const float* row =
          first<const float>(scores) + image * scores.dim[0].stride + of_class * scores.dim[1].stride;
      const auto take = [&](int64_t place) { write(count++, image, of_class, place); };
      suppress(rule, boxes, image, row, scores.dim[2].stride, all, candidates.get(), left, take);
    }
  header_of(output).count = count;
  return 0;
}

Rule read_rule(const HalideBuffer& boxes, const HalideBuffer& most, const HalideBuffer& overlap,
               const HalideBuffer& score, int has_score, int is_centered) {
  const int64_t wanted = *first<const int64_t>(most), all = boxes.dim[1].extent;
  return {std::clamp<int64_t>(wanted, 0, all), *first<const float>(overlap), *first<const float>(score),
          has_score != 0, is_centered != 0};
}

}  // namespace

extern "C" {

int intarsia_non_max_suppression(void* context, HalideBuffer* boxes, HalideBuffer* scores, HalideBuffer* most,
                                 HalideBuffer* overlap, HalideBuffer* score, int has_score, int is_centered,
                                 HalideBuffer* output) {
  if (is_question(*boxes, *output)) return 0;
  const auto write = [rows = reinterpret_cast<int64_t*>(output->host + counted_header)](
                         int64_t i, int64_t image, int64_t of_class, int64_t place) {
    const int64_t found[] = {image, of_class, place};
    std::copy_n(found, 3, rows + 3 * i);
  };
  const Rule rule = read_rule(*boxes, *most, *overlap, *score, has_score, is_centered);
  return non_max_suppression<double>(context, rule, *boxes, *scores, *output, write);
}

int intarsia_non_max_suppression_places(void* context, HalideBuffer* boxes, HalideBuffer* scores,
                                        HalideBuffer* most, HalideBuffer* overlap, HalideBuffer* score,
                                        int has_score, int is_centered, HalideBuffer* output) {
  if (is_question(*boxes, *output)) return 0;
  const auto write = [places = reinterpret_cast<int32_t*>(output->host + counted_header)](
                         int64_t i, int64_t, int64_t, int64_t place) {
    places[i] = static_cast<int32_t>(place);
  };
  const Rule rule = read_rule(*boxes, *most, *overlap, *score, has_score, is_centered);
  return non_max_suppression<float>(context, rule, *boxes, *scores, *output, write);
}
}

}  // namespace intarsia::halide::routines
