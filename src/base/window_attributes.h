// Attributes of operators that slide windows along the spatial axes: convolutions and pools.
#pragma once

#include <string>
#include <string_view>

#include "base/attributes.h"
#include "base/shape.h"

namespace intarsia {

/// Limit of these attributes: larger numbers are useless, and their products must fit 63 bits.
inline constexpr int64_t most_in_window = int64_t{1} << 30;

/// Returns an attribute of `count` numbers, all `otherwise` if it is absent. Errors: another count, or a
/// number outside least ... most_in_window.
Result<Shape> axis_attribute(const Attributes& attributes, std::string_view name, size_t count, int64_t least,
                             int64_t otherwise);

struct WindowAttributes {
  Shape strides, dilations;  // one for each axis
  Shape pads;                // before each axis, then after each
  std::string auto_pad;      // NOTSET, VALID, SAME_UPPER or SAME_LOWER

  bool is_padded_as_given() const { return auto_pad == "NOTSET"; }
  bool is_padded_to_same() const { return auto_pad.starts_with("SAME"); }
};

Result<WindowAttributes> window_attributes(const Attributes& attributes, size_t rank);

/// Returns how many windows of `block` an image has along each axis, with the pads as given. Error: one is
/// larger than the padded image.
Result<Shape> windows_of_image(const Shape& image, const Shape& block, const WindowAttributes& window);

}  // namespace intarsia
