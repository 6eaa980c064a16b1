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

  /// Returns the share of their union that a box and one that is left have in common.
  Number overlap(const Box<Number>& box, int64_t i) const {
    const Number *top = room_.get(), *left = top + most_, *bottom = left + most_, *right = bottom + most_,
                 *area = right + most_;
    const Number height = std::min(box.bottom, bottom[i]) - std::max(box.top, top[i]),
                 width = std::min(box.right, right[i]) - std::max(box.left, left[i]);
    const Number shared = height * width, ratio = shared / (box.area + area[i] - shared);
    const bool meet = (height > 0) & (width > 0) & (box.area > 0) & (area[i] > 0);
    return meet ? ratio : 0;
  }

  /// Checks whether a box has more than this share in common with one that is left.
  bool any_overlaps(const Box<Number>& box, float share) const {
    constexpr int64_t block = 16;
    for (int64_t first = 0; first < count_; first += block) {
      const int64_t last = std::min(first + block, count_);
      int overlapping = 0;
      for (int64_t i = first; i < last; ++i) overlapping |= static_cast<int>(overlap(box, i) > share);
      if (overlapping != 0) return true;
    }
    return false;
  }

 private:
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
  float sigma;  // above 0, overlaps lower scores
};

/// Boxes of an image with their scores for a class.
struct Scored {
  const HalideBuffer& boxes;
  int64_t image;
  const float* scores;
  int64_t stride, count;

  float score(int64_t place) const { return scores[place * stride]; }

  template <typename Number>
  Box<Number> box(int64_t place, bool is_centered) const {
    const float* numbers =
        first<const float>(boxes) + image * boxes.dim[0].stride + place * boxes.dim[1].stride;
    return read_box<Number>(numbers, boxes.dim[2].stride, is_centered);
  }
};

/// Calls take(place, score) for each box of a class that is left. Candidates are an order and, in the low 32
/// bits, a place.
template <typename Number, typename Take>
void suppress(const Rule& rule, const Scored& scored, uint64_t* candidates, Boxes<Number>& left,
              const Take& take) {
  int64_t count = 0;
  for (int64_t i = 0; i < scored.count; ++i) {
    const float score = scored.score(i);
    candidates[count] = uint64_t{order_of(score)} << 32 | static_cast<uint32_t>(i);
    count += static_cast<int64_t>(!rule.has_score || score > rule.score);
  }
  std::make_heap(candidates, candidates + count, std::greater<>());  // few of them may be needed
  left.clear();
  for (; count > 0 && left.count() < rule.most; --count) {
    std::pop_heap(candidates, candidates + count, std::greater<>());
    const int64_t place = static_cast<uint32_t>(candidates[count - 1]);
    const Box<Number> box = scored.box<Number>(place, rule.is_centered);
    if (left.any_overlaps(box, rule.overlap)) continue;
    left.add(box);
    take(place, scored.score(place));
  }
}

/// Box that may be left; the first `seen` of those that are left have lowered its score.
struct Candidate {
  float score;
  int32_t place;
  int64_t seen;

  /// Checks whether another one comes before this.
  bool operator<(const Candidate& other) const {
    const uint32_t order = order_of(score), of_other = order_of(other.score);
    return order != of_other ? order > of_other : place > other.place;
  }
};

/// Lowers the score of a candidate for each box that is left and that it has not seen, the last one first,
/// until it is too low (Bodla and others, "Soft-NMS", 2017).
void lower_score(const Rule& rule, const Box<float>& box, const Boxes<float>& left, Candidate& candidate) {
  const float scale = -0.5F / rule.sigma;
  for (int64_t i = left.count() - 1; i >= candidate.seen; --i) {
    const float overlap = left.overlap(box, i);
    candidate.score *= std::exp(scale * overlap * overlap);
    if (candidate.score <= rule.score) break;
  }
  candidate.seen = left.count();
}

/// The same as suppress(), with lowered scores in place of suppressed boxes.
template <typename Take>
void suppress_softly(const Rule& rule, const Scored& scored, Candidate* candidates, Boxes<float>& left,
                     const Take& take) {
  int64_t count = 0;
  for (int64_t i = 0; i < scored.count; ++i)
    if (scored.score(i) > rule.score) candidates[count++] = {scored.score(i), static_cast<int32_t>(i), 0};
  std::make_heap(candidates, candidates + count);
  left.clear();
  while (count > 0 && left.count() < rule.most) {
    std::pop_heap(candidates, candidates + count);
    Candidate& candidate = candidates[count - 1];
    const float score = candidate.score;
    const Box<float> box = scored.box<float>(candidate.place, rule.is_centered);
    lower_score(rule, box, left, candidate);
    if (candidate.score == score) {
      left.add(box);
      take(candidate.place, score);
      --count;
    } else if (candidate.score > rule.score) {
      std::push_heap(candidates, candidates + count);
    } else {
      --count;
    }
  }
}

/// Suppresses boxes of one image and class.
template <typename Take>
int suppress_once(void* context, const Rule& rule, const Scored& scored, const Take& take) {
  Boxes<float> left(context, rule.most);
  const auto count = static_cast<size_t>(scored.count) + 1;
  const Room<Candidate> candidates(context, rule.sigma > 0 ? count : 1);
  const Room<uint64_t> ordered(context, rule.sigma > 0 ? 1 : count);
  if (!left.has_room() || candidates.get() == nullptr || ordered.get() == nullptr)
    return halide_error_out_of_memory(context);
  if (rule.sigma > 0)
    suppress_softly(rule, scored, candidates.get(), left, take);
  else
    suppress(rule, scored, ordered.get(), left, take);
  return 0;
}

Scored scored_of(const HalideBuffer& boxes, const HalideBuffer& scores, int64_t image, int64_t of_class) {
  const float* row =
      first<const float>(scores) + image * scores.dim[0].stride + of_class * scores.dim[1].stride;
  return {boxes, image, row, scores.dim[2].stride, std::min(boxes.dim[1].extent, scores.dim[2].extent)};
}

/// Writes image, class and place of each box that is left.
int write_rows(void* context, const Rule& rule, const HalideBuffer& boxes, const HalideBuffer& scores,
               const HalideBuffer& output) {
  const int64_t images = std::min(boxes.dim[0].extent, scores.dim[0].extent);
  const Room<uint64_t> candidates(context, static_cast<size_t>(boxes.dim[1].extent) + 1);
  Boxes<double> left(context, rule.most);
  if (candidates.get() == nullptr || !left.has_room()) return halide_error_out_of_memory(context);
  auto* const rows = reinterpret_cast<int64_t*>(output.host + counted_header);
  int64_t count = 0;
  for (int64_t image = 0; image < images; ++image)
    for (int64_t of_class = 0; of_class < scores.dim[1].extent; ++of_class)
      suppress(rule, scored_of(boxes, scores, image, of_class), candidates.get(), left,
               [&](int64_t place, float) {
                 const int64_t found[] = {image, of_class, place};
                 std::copy_n(found, 3, rows + 3 * count++);
               });
  header_of(output).count = count;
  return 0;
}

/// Writes what is wanted of the boxes that are left of one image and class.
int write_parts(void* context, Rule rule, const Scored& scored, BoxParts parts, const HalideBuffer& output) {
  const bool is_counted = parts == BoxParts::places || parts == BoxParts::scores;
  auto* const to = reinterpret_cast<int32_t*>(output.host + (is_counted ? counted_header : 0));
  const int64_t size = output.dim[0].extent, most = size / 2;
  if (parts == BoxParts::padded) rule.most = std::min(rule.most, most);
  if (!is_counted) std::fill_n(to, size, 0);
  int64_t count = 0;
  const int failure = suppress_once(context, rule, scored, [&](int64_t place, float score) {
    if (parts == BoxParts::places || parts == BoxParts::padded) to[count] = static_cast<int32_t>(place);
    if (parts == BoxParts::scores) to[count] = std::bit_cast<int32_t>(score);
    if (parts == BoxParts::padded) to[most + count] = std::bit_cast<int32_t>(score);
    ++count;
  });
  if (is_counted)
    header_of(output).count = count;
  else
    to[size - 1] = static_cast<int32_t>(count);
  return failure;
}

}  // namespace

extern "C" {

int intarsia_non_max_suppression(void* context, HalideBuffer* boxes, HalideBuffer* scores, HalideBuffer* most,
                                 HalideBuffer* overlap, HalideBuffer* score, int has_score, int is_centered,
                                 float sigma, int parts, HalideBuffer* output) {
  if (is_question(*boxes, *output)) return 0;
  const int64_t wanted = *first<const int64_t>(*most), all = boxes->dim[1].extent;
  const Rule rule{std::clamp<int64_t>(wanted, 0, all),
                  *first<const float>(*overlap),
                  *first<const float>(*score),
                  has_score != 0,
                  is_centered != 0,
                  sigma};
  if (static_cast<BoxParts>(parts) == BoxParts::rows)
    return write_rows(context, rule, *boxes, *scores, *output);
  return write_parts(context, rule, scored_of(*boxes, *scores, 0, 0), static_cast<BoxParts>(parts), *output);
}
}

}  // namespace intarsia::halide::routines
