#include <limits>

#include "translate/layout.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

/// Mapping of an output's position to the image, and the rounding of "nearest".
struct Positions {
  std::string mode;
  std::string nearest;
};

Result<Positions> read_positions(const Translation& t) {
  const bool corners = tensorflow::get_bool(t.attributes(), "align_corners", false);
  const bool centers = tensorflow::get_bool(t.attributes(), "half_pixel_centers", false);
  if (corners && centers) return fail("with align_corners and half_pixel_centers");
  if (corners) return Positions{"align_corners", "round_prefer_ceil"};
  // Here a pixel's center is half a pixel further on, which this rounding undoes.
  if (centers) return Positions{"half_pixel", "round_prefer_ceil"};
  return Positions{"asymmetric", "floor"};
}

/// Translates a resize. ResizeBicubic is missing: TensorFlow takes its weights from a table of 1024
/// positions.
Status resize(Translation& t, const std::string& kind) {
  if (const int64_t rank = TRY(t.rank(0)); rank != 4) return fail("of rank {}", rank);
  const Positions positions = TRY(read_positions(t));
  const Layout layout{2, true};
  const ValueId x =
      to_channels_first(t, kind == "nearest" ? t.input(0) : t.cast(t.input(0), DType::f32), layout);
  const ValueId nothing = t.make_constant(Tensor(DType::f32, {0}));
  const ValueId sizes = t.integers_input(1);
  Translation::NamedAttributes attributes{{"mode", kind},
                                          {"coordinate_transformation_mode", positions.mode},
                                          {"axes", std::vector<int64_t>{2, 3}}};
  if (kind == "nearest") attributes.emplace_back("nearest_mode", positions.nearest);
  t.give(0, from_channels_first(t, t.make("Resize", {x, nothing, nothing, sizes}, std::move(attributes)),
                                layout));
  return {};
}

Status bilinear(Translation& t) { return resize(t, "linear"); }
Status nearest(Translation& t) { return resize(t, "nearest"); }

/// Checks the limits of a suppression, which TensorFlow checks in each run.
Status check_suppression(const Translation& t, float overlap) {
  if (t.dtype(0) != DType::f32 || t.dtype(1) != DType::f32)
    return fail("of {} and {}", dtype_name(t.dtype(0)), dtype_name(t.dtype(1)));
  const int64_t of_boxes = TRY(t.rank(0)), of_scores = TRY(t.rank(1));
  if (of_boxes != 2 || of_scores != 1) return fail("of rank {} and {}", of_boxes, of_scores);
  if (const int64_t most = TRY(t.integer(2)); most < 0) return fail("to {} boxes", most);
  if (!(overlap >= 0 && overlap <= 1)) return fail("with an overlap of {}", overlap);
  return {};
}

/// Suppresses boxes of one image and class; returns their places, their scores and their number. TensorFlow's
/// boxes need a score above a limit, and overlap as f32 says.
Result<std::vector<ValueId>> suppress(Translation& t, float overlap, ValueId score,
                                      Translation::NamedAttributes attributes = {}) {
  TRY(check_suppression(t, overlap));
  const ValueId boxes = t.unsqueeze(t.input(0), {0}), scores = t.unsqueeze(t.input(1), {0, 1});
  const ValueId most = t.make_integers({TRY(t.integer(2))});
  return t.make_own("NonMaxSuppressionPlaces",
                    {boxes, scores, most, t.make_scalar(DType::f32, overlap), score}, 3,
                    std::move(attributes));
}

Status give_places(Translation& t, float overlap, ValueId score) {
  t.give(0, TRY(suppress(t, overlap, score))[0]);
  return {};
}

Result<float> f32_number(const Translation& t, size_t i) {
  const Tensor tensor = TRY(t.constant(i));
  if (tensor.dtype() != DType::f32 || tensor.as<float>().size() != 1)
    return fail("its input {} is not one f32", i);
  return tensor.as<float>()[0];
}

ValueId least_score(Translation& t) {
  return t.make_scalar(DType::f32, std::numeric_limits<float>::lowest());
}

Status suppress_v1(Translation& t) {
  return give_places(t, t.attributes().get_float("iou_threshold", 0.5F), least_score(t));
}
Status suppress_v2(Translation& t) { return give_places(t, TRY(f32_number(t, 3)), least_score(t)); }

Result<ValueId> score_limit(Translation& t) {
  if (const DType type = t.dtype(4); type != DType::f32) return fail("with a score of {}", dtype_name(type));
  return t.input(4);
}

Status suppress_v3(Translation& t) { return give_places(t, TRY(f32_number(t, 3)), TRY(score_limit(t))); }

Translation::NamedAttributes padding_of(const Translation& t) {
  return {{"padded", int64_t{tensorflow::get_bool(t.attributes(), "pad_to_max_output_size", false)}}};
}

Status suppress_v4(Translation& t) {
  const std::vector<ValueId> left =
      TRY(suppress(t, TRY(f32_number(t, 3)), TRY(score_limit(t)), padding_of(t)));
  t.give(0, left[0]);
  t.give(1, left[2]);
  return {};
}

/// Suppresses boxes, or lowers their scores where they overlap (Bodla and others, "Soft-NMS", 2017).
Status suppress_v5(Translation& t) {
  const float sigma = TRY(f32_number(t, 5));
  if (!(sigma >= 0)) return fail("with a sigma of {}", sigma);
  Translation::NamedAttributes attributes = padding_of(t);
  attributes.emplace_back("sigma", sigma);
  const std::vector<ValueId> left =
      TRY(suppress(t, TRY(f32_number(t, 3)), TRY(score_limit(t)), std::move(attributes)));
  for (size_t i = 0; i < left.size(); ++i) t.give(i, left[i]);
  return {};
}

constexpr TranslationRow image_rows[] = {
    {"NonMaxSuppression", suppress_v1},   {"NonMaxSuppressionV2", suppress_v2},
    {"NonMaxSuppressionV3", suppress_v3}, {"NonMaxSuppressionV4", suppress_v4},
    {"NonMaxSuppressionV5", suppress_v5}, {"ResizeBilinear", bilinear},
    {"ResizeNearestNeighbor", nearest},
};

}  // namespace

std::span<const TranslationRow> image_translations() { return image_rows; }

}  // namespace intarsia
