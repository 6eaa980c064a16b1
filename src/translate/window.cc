#include "translate/layout.h"
#include "translate/rules.h"

namespace intarsia {
namespace {

Status pool(Translation& t, int64_t spatial, bool average) {
  const Layout layout = TRY(read_layout(t, spatial));
  const SymbolicShape image = TRY(t.sizes(0));
  const std::vector<int64_t> sizes = t.attributes().get_ints("ksize");
  if (static_cast<int64_t>(image.size()) != spatial + 2 || sizes.size() != image.size())
    return fail("of rank {} with sizes of rank {}", image.size(), sizes.size());
  if (sizes[0] != 1 || sizes[static_cast<size_t>(layout.channel_axis())] != 1)
    return fail("over images or channels");
  std::vector<int64_t> kernel;
  for (int64_t i = 0; i < spatial; ++i) kernel.push_back(sizes[static_cast<size_t>(layout.spatial_axis(i))]);
  Window window = TRY(read_window(t, layout, std::move(kernel)));
  TRY(set_padding(t, layout, image, window));
  Translation::NamedAttributes attributes{
      {"kernel_shape", window.kernel}, {"strides", window.strides}, window.padding()};
  if (average) attributes.emplace_back("count_include_pad", int64_t{0});
  const ValueId y = t.make(average ? "AveragePool" : "MaxPool", {to_channels_first(t, t.input(0), layout)},
                           std::move(attributes));
  t.give(0, from_channels_first(t, y, layout));
  return {};
}

Status max_pool(Translation& t) { return pool(t, 2, false); }
Status average_pool(Translation& t) { return pool(t, 2, true); }
Status max_pool_3d(Translation& t) { return pool(t, 3, false); }
Status average_pool_3d(Translation& t) { return pool(t, 3, true); }

constexpr TranslationRow window_rows[] = {
    {"MaxPool", max_pool},
    {"AvgPool", average_pool},
    {"MaxPool3D", max_pool_3d},
    {"AvgPool3D", average_pool_3d},
};

}  // namespace

std::span<const TranslationRow> window_translations() { return window_rows; }

}  // namespace intarsia
