#include "backends/reference/kernels/image.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "backends/reference/kernels/kernel_families.h"
#include "backends/reference/kernels/move.h"
#include "base/own_domain.h"

namespace intarsia::reference {
namespace {

struct RoiRule {
  int64_t height = 1;  // height of the output
  int64_t width = 1;
  int64_t sampling = 0;
  double scale = 1;
  bool half_pixel = true;
  bool maximum = false;
};

Result<RoiRule> read_roi_rule(const KernelContext& context) {
  const Attributes& attributes = context.attributes();
  RoiRule rule;
  rule.height = attributes.get_int("output_height", 1);
  rule.width = attributes.get_int("output_width", 1);
  rule.sampling = attributes.get_int("sampling_ratio", 0);
  rule.scale = attributes.get_float("spatial_scale", 1);
  const std::string shift = attributes.get_string(
      "coordinate_transformation_mode", context.version() < 16 ? "output_half_pixel" : "half_pixel");
  const std::string mode = attributes.get_string("mode", "avg");
  if (shift != "half_pixel" && shift != "output_half_pixel") {
    return fail("coordinate_transformation_mode is '{}'", shift);
  }
  if (mode != "avg" && mode != "max") return fail("mode is '{}', want avg or max", mode);
  if (rule.height < 1 || rule.width < 1 || rule.sampling < 0 || rule.sampling > 1024) {
    return fail("output {} x {}, sampling_ratio {}", rule.height, rule.width, rule.sampling);
  }
  rule.half_pixel = shift == "half_pixel";
  rule.maximum = mode == "max";
  return rule;
}

/// Axis of a region: samples lie at start + bin * step + (i + 0.5) * step / samples.
struct RoiAxis {
  double start, step;
  int64_t samples;

  double place(int64_t bin, int64_t i) const {
    return start + static_cast<double>(bin) * step +
           (static_cast<double>(i) + 0.5) * step / static_cast<double>(samples);
  }

  /// Returns the range of samples of a bin that may be inside an axis of `size` elements: a region may be
  /// much larger.
  std::pair<int64_t, int64_t> near(int64_t bin, int64_t size) const {
    if (!(step > 0)) return {0, samples};
    const double apart = step / static_cast<double>(samples);
    const double first = (-1 - place(bin, 0)) / apart - 1;
    const double last = (static_cast<double>(size) - place(bin, 0)) / apart + 2;
    const auto most = static_cast<double>(samples);
    return {static_cast<int64_t>(std::clamp(first, 0.0, most)),
            static_cast<int64_t>(std::clamp(last, 0.0, most))};
  }
};

Result<RoiAxis> roi_axis(const RoiRule& rule, double start, double end, int64_t bins) {
  const double shift = rule.half_pixel ? 0.5 : 0.0;
  start = start * rule.scale - shift;
  double size = end * rule.scale - shift - start;
  if (!rule.half_pixel) size = std::max(size, 1.0);
  const double step = size / static_cast<double>(bins);
  if (!(std::abs(start) < 1e9 && std::abs(step) < 1e6)) return fail("a region at {} of size {}", start, size);
  return RoiAxis{
      start, step,
      rule.sampling > 0 ? rule.sampling : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(step)))};
}

struct Sides {
  int64_t low, high;
  double part;  // weight of `high`
  bool inside;
};

Sides sides_of(double at, int64_t size) {
  if (at < -1 || at > static_cast<double>(size)) return {0, 0, 0, false};
  at = std::max(at, 0.0);
  const auto low = static_cast<int64_t>(at);
  if (low >= size - 1) return {size - 1, size - 1, 0, true};
  return {low, low + 1, at - static_cast<double>(low), true};
}

/// Returns the mean, or the largest weighted corner, of the samples of one bin (He and others, "Mask R-CNN",
/// 2017).
template <typename T>
T pool_bin(const RoiRule& rule, const T* plane, const Shape& x, const RoiAxis& rows, const RoiAxis& columns,
           int64_t bin_row, int64_t bin_column) {
  double sum = 0;
  double best = -std::numeric_limits<double>::infinity();
  int64_t seen = 0;
  const auto [top, bottom] = rows.near(bin_row, x[2]);
  const auto [left, right] = columns.near(bin_column, x[3]);
  for (int64_t i = top; i < bottom; ++i) {
    const Sides v = sides_of(rows.place(bin_row, i), x[2]);
    for (int64_t j = left; v.inside && j < right; ++j) {
      const Sides h = sides_of(columns.place(bin_column, j), x[3]);
      if (!h.inside) continue;
      const double a = (1 - v.part) * (1 - h.part) * plane[v.low * x[3] + h.low];
      const double b = (1 - v.part) * h.part * plane[v.low * x[3] + h.high];
      const double c = v.part * (1 - h.part) * plane[v.high * x[3] + h.low];
      const double d = v.part * h.part * plane[v.high * x[3] + h.high];
      best = std::max({best, a, b, c, d});
      sum += a + b + c + d;
      ++seen;
    }
  }
  // Samples outside are zeros.
  const int64_t all = rows.samples * columns.samples;
  if (seen < all || all == 0) best = std::max(best, 0.0);
  return static_cast<T>(rule.maximum ? best : sum / static_cast<double>(std::max<int64_t>(1, all)));
}

template <typename T>
Status align_regions(const KernelContext& context, const RoiRule& rule, const std::vector<int64_t>& images,
                     const TensorView& y) {
  const Shape& x = context.input(0).shape;
  const ReadAs<T> in(context.input(0)), rois(context.input(1));
  WriteAs<T> out(y);
  int64_t next = 0;
  for (size_t r = 0; r < images.size(); ++r) {
    const T* corners = rois.data() + 4 * r;  // x1, y1, x2, y2
    if (images[r] < 0 || images[r] >= x[0]) return fail("region {} is of image {}", r, images[r]);
    const RoiAxis columns = TRY(roi_axis(rule, corners[0], corners[2], rule.width));
    const RoiAxis rows = TRY(roi_axis(rule, corners[1], corners[3], rule.height));
    for (int64_t c = 0; c < x[1]; ++c) {
      const T* plane = in.data() + (images[r] * x[1] + c) * x[2] * x[3];
      for (int64_t i = 0; i < rule.height * rule.width; ++i) {
        out[next++] = pool_bin(rule, plane, x, rows, columns, i / rule.width, i % rule.width);
      }
    }
  }
  return {};
}

Status roi_align(KernelContext& context) {
  TRY(require_inputs(context, 3));
  TRY(require_rank(context, 0, 4));
  const ConstTensorView& x = context.input(0);
  const RoiRule rule = TRY(read_roi_rule(context));
  const std::vector<int64_t> images = TRY(context.input_ints(2));
  const auto count = static_cast<int64_t>(images.size());
  if (context.input(1).shape != Shape{count, 4} || context.input(1).dtype != x.dtype) {
    return fail("regions of shape {} for {} indices", print_shape(context.input(1).shape), count);
  }
  const Shape shape = {count, x.shape[1], rule.height, rule.width};
  TRY(checked_elements(shape));
  if (x.shape[2] == 0 || x.shape[3] == 0) return fail("an empty image of shape {}", print_shape(x.shape));
  const TensorView y = TRY(context.output(0, x.dtype, shape));
  return dispatch_float(x.dtype, [&]<typename T>() { return align_regions<T>(context, rule, images, y); });
}

template <typename Number>
struct Box {
  Number top, left, bottom, right;
  Number area() const { return (bottom - top) * (right - left); }
};

template <typename Number>
Box<Number> read_box(const float* numbers, bool centered) {
  const Number a = numbers[0], b = numbers[1], c = numbers[2], d = numbers[3];
  if (centered) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

template <typename Number>
Number intersection_over_union(const Box<Number>& a, const Box<Number>& b) {
  const Number height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const Number width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0 && width > 0 && a.area() > 0 && b.area() > 0)) return 0;
  const Number shared = height * width;
  return shared / (a.area() + b.area() - shared);
}

struct Selection {
  std::optional<float> score_threshold;
  float overlap_threshold = 0;
  float sigma = 0;   // above 0, overlaps lower scores
  int64_t most = 0;  // boxes per class and image
  bool centered = false;
};

Result<std::optional<float>> optional_float(const KernelContext& context, size_t input) {
  if (!context.has_input(input)) return std::optional<float>();
  const ConstTensorView& view = context.input(input);
  if (view.dtype != DType::f32 || element_count(view.shape) != 1) {
    return fail("input {} is {} {}, want one f32", input, dtype_name(view.dtype), print_shape(view.shape));
  }
  return std::optional(view.as<float>()[0]);
}

/// Box that is left, or may be.
struct Candidate {
  int64_t place;
  float score;
  size_t seen = 0;  // boxes that were left and have lowered its score

  /// Orders boxes, the best one last. NaN, which has no order, is the worst.
  bool operator<(const Candidate& other) const {
    const auto key = [](float x) { return std::isnan(x) ? -std::numeric_limits<float>::infinity() : x; };
    if (key(score) != key(other.score)) return key(score) < key(other.score);
    return place > other.place;
  }
};

/// Selects boxes greedily: the best box first, without those that overlap a chosen one, or with a lower score
/// for each chosen one (Bodla and others, "Soft-NMS", 2017). Overlaps are rounded as numbers of that type.
template <typename Number>
std::vector<Candidate> select_boxes(const Selection& rule, std::span<const float> boxes,
                                    std::span<const float> scores) {
  const auto passes = [&](float score) { return !rule.score_threshold || score > *rule.score_threshold; };
  std::priority_queue<Candidate> queue;
  for (size_t i = 0; i < scores.size(); ++i)
    if (passes(scores[i])) queue.push({static_cast<int64_t>(i), scores[i]});
  const auto box_of = [&](const Candidate& candidate) {
    return read_box<Number>(boxes.data() + 4 * candidate.place, rule.centered);
  };
  std::vector<Candidate> chosen;
  for (; !queue.empty() && std::ssize(chosen) < rule.most;) {
    Candidate candidate = queue.top();
    queue.pop();
    const float before = candidate.score;
    bool covered = false;
    for (size_t i = chosen.size(); i > candidate.seen && !covered;) {
      const Number overlap = intersection_over_union(box_of(candidate), box_of(chosen[--i]));
      if (rule.sigma > 0) {
        const auto share = static_cast<float>(overlap);
        candidate.score *= std::exp(-0.5F / rule.sigma * share * share);
        if (candidate.score <= rule.score_threshold) break;
      } else {
        covered = overlap > rule.overlap_threshold;
      }
    }
    candidate.seen = chosen.size();
    if (covered) continue;
    if (rule.sigma <= 0 || candidate.score == before)
      chosen.push_back(candidate);
    else if (passes(candidate.score))
      queue.push(candidate);
  }
  return chosen;
}

/// Box that is left.
struct LeftBox {
  int64_t image, of_class, place;
  float score;
};

Result<Selection> read_selection(const KernelContext& context) {
  Selection rule;
  rule.most = context.has_input(2) ? TRY(input_int(context, 2)) : 0;
  rule.overlap_threshold = TRY(optional_float(context, 3)).value_or(0.0F);
  rule.score_threshold = TRY(optional_float(context, 4));
  rule.centered = context.attributes().get_int("center_point_box", 0) != 0;
  rule.sigma = context.attributes().get_float("sigma", 0);
  return rule;
}

/// Returns the boxes that are left of each image and class, one after the other.
template <typename Number>
Result<std::vector<LeftBox>> left_boxes(const KernelContext& context) {
  TRY(require_inputs(context, 2));
  TRY(require_rank(context, 0, 3));
  TRY(require_rank(context, 1, 3));
  const ConstTensorView& boxes = context.input(0);
  const ConstTensorView& scores = context.input(1);
  if (boxes.dtype != DType::f32 || scores.dtype != DType::f32 || boxes.shape[2] != 4 ||
      boxes.shape[0] != scores.shape[0] || boxes.shape[1] != scores.shape[2]) {
    return fail("boxes {} and scores {}", print_shape(boxes.shape), print_shape(scores.shape));
  }
  const Selection rule = TRY(read_selection(context));
  const auto count = static_cast<size_t>(boxes.shape[1]);
  std::vector<LeftBox> result;
  for (int64_t i = 0; i < scores.shape[0] * scores.shape[1]; ++i) {
    const int64_t image = i / scores.shape[1];
    const auto of_image = boxes.as<float>().subspan(static_cast<size_t>(image) * count * 4, count * 4);
    const auto of_class = scores.as<float>().subspan(static_cast<size_t>(i) * count, count);
    for (const Candidate& box : select_boxes<Number>(rule, of_image, of_class))
      result.push_back({image, i % scores.shape[1], box.place, box.score});
  }
  return result;
}

Status non_max_suppression(KernelContext& context) {
  const std::vector<LeftBox> left = TRY(left_boxes<double>(context));
  const TensorView y = TRY(context.output(0, DType::i64, {std::ssize(left), 3}));
  int64_t* row = y.as<int64_t>().data();
  for (const LeftBox& box : left)
    for (int64_t number : {box.image, box.of_class, box.place}) *row++ = number;
  return {};
}

/// Returns places, scores and the number of boxes, where padded with zeros; overlaps are those of f32.
Status non_max_suppression_places(KernelContext& context) {
  const std::vector<LeftBox> left = TRY(left_boxes<float>(context));
  const bool is_padded = context.attributes().get_int("padded", 0) != 0;
  const Shape shape = {is_padded ? std::max<int64_t>(TRY(input_int(context, 2)), 0) : std::ssize(left)};
  TRY(checked_elements(shape));
  if (context.wants_output(0)) {
    const std::span<int32_t> places = TRY(context.output(0, DType::i32, shape)).as<int32_t>();
    std::ranges::fill(places, 0);
    std::ranges::transform(left, places.begin(),
                           [](const LeftBox& box) { return static_cast<int32_t>(box.place); });
  }
  if (context.wants_output(1)) {
    const std::span<float> scores = TRY(context.output(1, DType::f32, shape)).as<float>();
    std::ranges::fill(scores, 0.0F);
    std::ranges::transform(left, scores.begin(), &LeftBox::score);
  }
  if (context.wants_output(2))
    TRY(context.output(2, DType::i32, {})).as<int32_t>()[0] = static_cast<int32_t>(left.size());
  return {};
}

constexpr KernelEntry image_rows[] = {
    {"AffineGrid", "", affine_grid},
    {"GridSample", "", grid_sample},
    {"NonMaxSuppression", "", non_max_suppression},
    {"NonMaxSuppressionPlaces", own_domain, non_max_suppression_places},
    {"Resize", "", resize},
    {"RoiAlign", "", roi_align},
    {"Upsample", "", resize},
};

}  // namespace

std::span<const KernelEntry> image_kernels() { return image_rows; }

}  // namespace intarsia::reference
