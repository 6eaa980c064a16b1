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

constexpr TranslationRow image_rows[] = {
    {"ResizeBilinear", bilinear},
    {"ResizeNearestNeighbor", nearest},
};

}  // namespace

std::span<const TranslationRow> image_translations() { return image_rows; }

}  // namespace intarsia
