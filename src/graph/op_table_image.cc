#include <algorithm>
#include <cmath>

#include "base/own_domain.h"
#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

constexpr double most = 281474976710656.0;  // 2^48, see checked_elements

/// Returns the scales if known: an attribute before opset 9, then the second or third input.
std::optional<std::vector<float>> known_scales(const ShapeContext& context) {
  const size_t input = context.version() < 11 ? 1 : 2;
  if (!context.has_input(input)) return context.attributes().get_floats("scales");
  const Tensor* tensor = context.constant(input);
  if (tensor == nullptr || tensor->dtype() != DType::f32) return std::nullopt;
  const std::span<float> values = tensor->as<float>();
  return std::vector<float>(values.begin(), values.end());
}

/// Scales an open size; unknown where the product, which is rounded down, is not an expression: the scale is
/// neither a whole number nor a whole part of one (exactly, which only powers of two are).
Dim scale_open(const Dim& dim, float scale) {
  if (scale < static_cast<float>(most) && scale == std::floor(scale))
    return dim * static_cast<int64_t>(scale);
  int exponent = 0;
  const bool is_power = std::frexp(scale, &exponent) == 0.5f && exponent > -30;
  return is_power ? floor_div(dim, int64_t{1} << (1 - exponent)) : Dim::unknown();
}

Status scale_dims(SymbolicShape& shape, const std::vector<int64_t>& axes, const std::vector<float>& scales) {
  if (scales.size() != axes.size()) return fail("{} scales for {} axes", scales.size(), axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = shape[static_cast<size_t>(axes[i])];
    if (!(scales[i] > 0)) return fail("scale {}", scales[i]);
    if (scales[i] == 1) continue;
    if (!dim.is_number()) {
      dim = scale_open(dim, scales[i]);
      continue;
    }
    const float size = std::floor(static_cast<float>(dim.number()) * scales[i]);
    if (!(size < static_cast<float>(most))) return fail("scale {} of {}", scales[i], dim.number());
    dim = static_cast<int64_t>(size);
  }
  return {};
}

/// Scales all listed axes by the same factor, the smallest or largest one requested.
void keep_aspect_ratio(SymbolicShape& shape, const std::vector<int64_t>& axes, const SymbolicShape& sizes,
                       bool smaller) {
  double scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& dim = shape[static_cast<size_t>(axes[i])];
    if (!dim.is_number() || dim == 0 || !sizes[i].is_number()) {
      for (int64_t axis : axes) shape[static_cast<size_t>(axis)] = Dim::unknown();
      return;
    }
    const double own = static_cast<double>(sizes[i].number()) / static_cast<double>(dim.number());
    scale = i == 0 ? own : smaller ? std::min(scale, own) : std::max(scale, own);
  }
  for (int64_t axis : axes) {
    Dim& dim = shape[static_cast<size_t>(axis)];
    const double size = std::floor(scale * static_cast<double>(dim.number()) + 0.5);
    dim = size < most ? Dim(static_cast<int64_t>(size)) : Dim::unknown();
  }
}

Status resize_dims(ShapeContext& context, SymbolicShape& shape, const std::vector<int64_t>& axes) {
  const auto forget = [&] {
    for (int64_t axis : axes) shape[static_cast<size_t>(axis)] = Dim::unknown();
  };
  const std::optional<std::vector<float>> scales = known_scales(context);
  if (scales && !scales->empty()) return scale_dims(shape, axes, *scales);
  if (!scales) {
    forget();
    return {};
  }
  if (context.version() < 11 || !context.has_input(3)) {
    return axes.empty() ? Status() : fail("neither scales nor sizes are given");
  }
  const std::optional<SymbolicShape> sizes = context.elements(3);
  if (!sizes) {
    forget();
    return {};
  }
  if (sizes->size() != axes.size()) return fail("{} sizes for {} axes", sizes->size(), axes.size());
  for (const Dim& size : *sizes) {
    if (size.is_number() && size.number() < 0) return fail("size {}", size.number());
  }
  const std::string policy = context.attributes().get_string("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") {
    for (size_t i = 0; i < axes.size(); ++i) shape[static_cast<size_t>(axes[i])] = (*sizes)[i];
  } else {
    keep_aspect_ratio(shape, axes, *sizes, policy == "not_larger");
  }
  return {};
}

Status resize(ShapeContext& context) {
  OptionalShape result = input_shape(context, 0);
  if (result) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < result->size(); ++i) axes.push_back(static_cast<int64_t>(i));
    if (context.attributes().has("axes")) {
      axes = TRY(normalize_axes(context.attributes().get_ints("axes"), result->size()));
    }
    TRY(resize_dims(context, *result, axes));
  }
  context.set_output(0, context.dtype(0), result);
  return {};
}

Status grid_sample(ShapeContext& context) {
  TRY(require_rank(context, 0, 3));
  TRY(require_rank(context, 1, 3));
  const SymbolicShape* x = context.shape(0);
  const SymbolicShape* grid = context.shape(1);
  OptionalShape result;
  if (grid != nullptr) {
    if (x != nullptr && x->size() != grid->size()) {
      return fail("a grid of shape {} for the input {}", print_shape(*grid), print_shape(*x));
    }
    result = SymbolicShape{x ? (*x)[0] : (*grid)[0], x ? (*x)[1] : Dim::unknown()};
    result->insert(result->end(), grid->begin() + 1, grid->end() - 1);
  } else if (x != nullptr) {
    result = unknown_dims(x->size());
    std::copy_n(x->begin(), 2, result->begin());
  }
  context.set_output(0, context.dtype(0), result);
  return {};
}

Status affine_grid(ShapeContext& context) {
  TRY(require_rank(context, 0, 3, 3));
  const OptionalShape size = TRY(shape_from_input(context, 1));
  OptionalShape result;
  if (size) {
    if (size->size() != 4 && size->size() != 5) return fail("size has {} numbers, want 4 or 5", size->size());
    result = SymbolicShape{(*size)[0]};
    result->insert(result->end(), size->begin() + 2, size->end());
    result->push_back(Dim(static_cast<int64_t>(size->size()) - 2));
  }
  context.set_output(0, context.dtype(0), result);
  return {};
}

Status roi_align(ShapeContext& context) {
  TRY(require_rank(context, 0, 4, 4));
  TRY(require_rank(context, 1, 2, 2));
  const int64_t height = context.attributes().get_int("output_height", 1);
  const int64_t width = context.attributes().get_int("output_width", 1);
  if (height < 1 || width < 1) return fail("output {} x {}", height, width);
  const SymbolicShape* x = context.shape(0);
  const SymbolicShape* rois = context.shape(1);
  context.set_output(0, context.dtype(0),
                     SymbolicShape{rois ? (*rois)[0] : Dim::unknown(), x ? (*x)[1] : Dim::unknown(),
                                   Dim(height), Dim(width)});
  return {};
}

Status non_max_suppression(ShapeContext& context) {
  TRY(require_rank(context, 0, 3, 3));
  TRY(require_rank(context, 1, 3, 3));
  context.set_output(0, DType::i64, SymbolicShape{Dim::unknown(), Dim(3)});
  return {};
}

/// Infers places and scores of boxes of one image and class, and their number, as TensorFlow has them:
/// padded to as many as there may be, or not.
Status non_max_suppression_places(ShapeContext& context) {
  TRY(require_rank(context, 0, 3, 3));
  TRY(require_rank(context, 1, 3, 3));
  SymbolicShape places = unknown_dims(1);
  if (context.attributes().get_int("padded", 0) != 0) {
    const std::optional<int64_t> most = known_int(context, 2);
    if (most && *most < 0) return fail("to {} boxes", *most);
    if (most) places[0] = *most;
  }
  context.set_output(0, DType::i32, places);
  context.set_output(1, DType::f32, places);
  context.set_output(2, DType::i32, SymbolicShape{});
  return {};
}

constexpr OpInfo image_rows[] = {
    {"AffineGrid", "", 2, 2, 1, 1, affine_grid},
    {"GridSample", "", 2, 2, 1, 1, grid_sample},
    {"NonMaxSuppression", "", 2, 5, 1, 1, non_max_suppression},
    {"NonMaxSuppressionPlaces", own_domain, 5, 5, 1, 3, non_max_suppression_places},
    {"Resize", "", 1, 4, 1, 1, resize},
    {"RoiAlign", "", 3, 3, 1, 1, roi_align},
    {"Upsample", "", 1, 2, 1, 1, resize},
};

}  // namespace

std::span<const OpInfo> image_ops() { return image_rows; }

}  // namespace intarsia
