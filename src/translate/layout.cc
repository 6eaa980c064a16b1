#include "translate/layout.h"

#include <algorithm>

namespace intarsia {

Result<Layout> read_layout(const Translation& t, int64_t spatial) {
  const std::string format = t.attributes().get_string("data_format", spatial == 2 ? "NHWC" : "NDHWC");
  if (format == "NHWC" || format == "NDHWC") return Layout{spatial, true};
  if (format == "NCHW" || format == "NCDHW") return Layout{spatial, false};
  return fail("data format {}", format);
}

ValueId to_channels_first(Translation& t, ValueId value, const Layout& layout) {
  if (!layout.channels_last) return value;
  std::vector<int64_t> permutation{0, layout.spatial + 1};
  for (int64_t axis = 1; axis <= layout.spatial; ++axis) permutation.push_back(axis);
  return t.transpose(value, permutation);
}

ValueId from_channels_first(Translation& t, ValueId value, const Layout& layout) {
  if (!layout.channels_last) return value;
  std::vector<int64_t> permutation{0};
  for (int64_t axis = 2; axis <= layout.spatial + 1; ++axis) permutation.push_back(axis);
  permutation.push_back(1);
  return t.transpose(value, permutation);
}

Result<Window> read_window(const Translation& t, const Layout& layout, std::vector<int64_t> kernel) {
  Window window;
  window.kernel = std::move(kernel);
  const size_t rank = static_cast<size_t>(layout.spatial) + 2;
  const std::vector<int64_t> ones(rank, 1);
  const std::vector<int64_t> strides = t.attributes().get_ints("strides", ones),
                             dilations = t.attributes().get_ints("dilations", ones);
  if (strides.size() != rank || dilations.size() != rank)
    return fail("strides or dilations of another rank than its image");
  const size_t channel = static_cast<size_t>(layout.channel_axis());
  if (strides[0] != 1 || strides[channel] != 1 || dilations[0] != 1 || dilations[channel] != 1)
    return fail("strides over images or channels");
  for (int64_t i = 0; i < layout.spatial; ++i) {
    window.strides.push_back(strides[static_cast<size_t>(layout.spatial_axis(i))]);
    window.dilations.push_back(dilations[static_cast<size_t>(layout.spatial_axis(i))]);
    if (window.strides.back() < 1 || window.dilations.back() < 1) return fail("strides or dilations below 1");
  }
  return window;
}

Status set_padding(const Translation& t, const Layout& layout, const SymbolicShape& image, Window& window) {
  const size_t spatial = static_cast<size_t>(layout.spatial);
  window.pads.assign(2 * spatial, 0);
  const std::string padding = t.attributes().get_string("padding", "VALID");
  if (padding == "VALID") return {};
  const std::vector<int64_t> explicit_pads = t.attributes().get_ints("explicit_paddings");
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = static_cast<size_t>(layout.spatial_axis(static_cast<int64_t>(i)));
    if (padding == "SAME") {
      const int64_t stride = window.strides[i], reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
      const Dim windows = ceil_div(image[axis], stride),
                total = larger_of((windows - 1) * stride + reach - image[axis], 0);
      window.is_same |= !total.is_number();
      if (!total.is_number()) continue;
      window.pads[i] = total.number() / 2;
      window.pads[i + spatial] = total.number() - total.number() / 2;
    } else if (padding == "EXPLICIT" && explicit_pads.size() == 2 * (spatial + 2)) {
      window.pads[i] = explicit_pads[2 * axis];
      window.pads[i + spatial] = explicit_pads[2 * axis + 1];
      if (window.pads[i] < 0 || window.pads[i + spatial] < 0) return fail("negative pads");
    } else {
      return fail("padding {}", padding);
    }
  }
  return {};
}

}  // namespace intarsia
