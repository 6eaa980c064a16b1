#include "base/window_attributes.h"

namespace intarsia {

Result<Shape> axis_attribute(const Attributes& attributes, std::string_view name, size_t count, int64_t least,
                             int64_t otherwise) {
  const Shape values = attributes.get_ints(name, Shape(count, otherwise));
  if (values.size() != count) return fail("{} has {} numbers, want {}", name, values.size(), count);
  for (int64_t value : values) {
    if (value < least || value > most_in_window)
      return fail("{} has the number {}, want {} or more", name, value, least);
  }
  return values;
}

Result<WindowAttributes> window_attributes(const Attributes& attributes, size_t rank) {
  WindowAttributes read{TRY(axis_attribute(attributes, "strides", rank, 1, 1)),
                        TRY(axis_attribute(attributes, "dilations", rank, 1, 1)),
                        TRY(axis_attribute(attributes, "pads", 2 * rank, 0, 0)),
                        attributes.get_string("auto_pad", "NOTSET")};
  if (read.auto_pad.empty()) read.auto_pad = "NOTSET";
  for (const char* known : {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}) {
    if (read.auto_pad == known) return read;
  }
  return fail("auto_pad is '{}', want NOTSET, VALID, SAME_UPPER or SAME_LOWER", read.auto_pad);
}

Result<Shape> windows_of_image(const Shape& image, const Shape& block, const WindowAttributes& window) {
  Shape counts;
  for (size_t i = 0; i < image.size(); ++i) {
    const int64_t room =
        image[i] + window.pads[i] + window.pads[image.size() + i] - (block[i] - 1) * window.dilations[i] - 1;
    if (room < 0) return fail("blocks {} of an image {}", print_shape(block), print_shape(image));
    counts.push_back(room / window.strides[i] + 1);
  }
  return counts;
}

}  // namespace intarsia
