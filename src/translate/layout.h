// Data formats and padding of TensorFlow's windows (convolution, pooling).
#pragma once

#include <vector>

#include "translate/translation.h"

namespace intarsia {

/// Position of the channels: last (NHWC, NDHWC) or second (NCHW, NCDHW).
struct Layout {
  int64_t spatial = 2;
  bool channels_last = true;
  int64_t channel_axis() const { return channels_last ? spatial + 1 : 1; }
  int64_t spatial_axis(int64_t i) const { return channels_last ? i + 1 : i + 2; }
};

Result<Layout> read_layout(const Translation& t, int64_t spatial);
ValueId to_channels_first(Translation& t, ValueId value, const Layout& layout);
ValueId from_channels_first(Translation& t, ValueId value, const Layout& layout);

/// Sizes of a window along the spatial axes; pads are all starts, then all ends.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
  bool is_same = false;  // as many pads as SAME needs for an image of open size, in place of `pads`
  /// Returns the attribute of ONNX's operators that says the padding.
  std::pair<std::string, AttributeValue> padding() const {
    if (is_same) return {"auto_pad", std::string("SAME_UPPER")};
    return {"pads", pads};
  }
};

/// Reads strides and dilations from the node's attributes.
Result<Window> read_window(const Translation& t, const Layout& layout, std::vector<int64_t> kernel);

/// Sets the pads from the attribute `padding` for an image of this shape: SAME puts the odd element at the
/// end.
Status set_padding(const Translation& t, const Layout& layout, const SymbolicShape& image, Window& window);

}  // namespace intarsia
