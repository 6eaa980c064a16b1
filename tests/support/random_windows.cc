// Operators of random graphs that look at windows of a picture or a line, or resize it.
#include <array>

#include "tests/support/open_graph_writer.h"

namespace intarsia::test {
namespace {

using Numbers = std::vector<int64_t>;

bool is_picture(const Written& x) {
  return x.dtype == DType::f32 && (x.rank() == 3 || x.rank() == 4) && x.is_number(1) &&
         x.shape[1].number() <= 40;
}

struct Window {
  Numbers kernel;
  std::string attributes;
};

/// Returns the size of a window and how it moves.
Window random_window(OpenGraphWriter& g, const Written& x, bool has_dilations, bool is_pool) {
  const size_t axes = x.rank() - 2;
  Window window;
  Numbers strides, dilations, pads(2 * axes, 0);
  for (size_t i = 0; i < axes; ++i) {
    window.kernel.push_back(g.one_of<int64_t>({1, 2, 3, 3, 5}));
    strides.push_back(g.one_of<int64_t>({1, 1, 2, 3}));
    dilations.push_back(has_dilations ? g.one_of<int64_t>({1, 1, 1, 2}) : 1);
    for (size_t side : {i, i + axes}) pads[side] = is_pool ? g.below(window.kernel.back()) : g.between(0, 2);
  }
  window.attributes = fmt::format("strides={}, dilations={}", list(strides), list(dilations));
  switch (g.below(6)) {
    case 0:
      window.attributes += fmt::format(", auto_pad=\"{}\"", g.one_of({"SAME_UPPER", "SAME_LOWER", "VALID"}));
      break;
    case 1:
      break;
    default:
      window.attributes += fmt::format(", pads={}", list(pads));
  }
  return window;
}

bool convolution(OpenGraphWriter& g, const Written& x) {
  if (!is_picture(x)) return false;
  const int64_t channels = x.shape[1].number();
  Window window = random_window(g, x, true, false);
  if (g.chance(25))
    window = {Numbers(x.rank() - 2, 1),
              g.chance(70) ? "group=1" : "strides=" + list(Numbers(x.rank() - 2, 2))};
  int64_t group = 1;
  if (g.chance(25)) group = channels;
  if (group == 1 && channels % 2 == 0 && g.chance(15)) group = 2;
  if (window.attributes == "group=1") group = 1;
  const int64_t outputs =
      group == channels ? channels * g.one_of<int64_t>({1, 1, 2}) : group * g.one_of<int64_t>({1, 3, 8, 10});
  Shape weights{outputs, channels / group};
  weights.insert(weights.end(), window.kernel.begin(), window.kernel.end());
  std::string w = g.weights(weights);
  if (g.chance(40)) w += ", " + g.weights({outputs});
  const std::string grouped = group > 1 ? fmt::format(", group={}", group) : "";
  const std::string made =
      g.node(fmt::format("Conv({}, {}) {{{}{}}}", x.name, w, window.attributes, grouped));
  if (g.chance(40)) g.node(fmt::format("Relu({})", made));
  return true;
}

bool transposed(OpenGraphWriter& g, const Written& x) {
  if (!is_picture(x)) return false;
  const int64_t channels = x.shape[1].number(), group = channels % 2 == 0 && g.chance(25) ? 2 : 1;
  const Window window = random_window(g, x, true, false);
  Shape weights{channels, g.one_of<int64_t>({1, 4, 8})};
  weights.insert(weights.end(), window.kernel.begin(), window.kernel.end());
  const std::string w = g.weights(weights);
  g.node(fmt::format("ConvTranspose({}, {}) {{{}, group={}}}", x.name, w, window.attributes, group));
  return true;
}

bool pool(OpenGraphWriter& g, const Written& x) {
  if (!is_picture(x)) return false;
  const bool is_average = g.chance(50);
  const Window window = random_window(g, x, !is_average || g.version() >= 19, true);
  std::string attributes = window.attributes;
  if (is_average && g.version() < 19)
    attributes.erase(attributes.find(", dilations"), 12 + list(Numbers(x.rank() - 2, 1)).size());
  if (is_average) attributes += fmt::format(", count_include_pad={}", g.below(2));
  if (g.chance(35)) attributes += ", ceil_mode=1";
  g.node(fmt::format("{}({}) {{kernel_shape={}, {}}}", is_average ? "AveragePool" : "MaxPool", x.name,
                     list(window.kernel), attributes));
  return true;
}

bool global_pool(OpenGraphWriter& g, const Written& x) {
  if (x.dtype != DType::f32 || x.rank() < 3) return false;
  g.node(fmt::format("{}({})", g.one_of({"GlobalAveragePool", "GlobalMaxPool"}), x.name));
  return true;
}

bool local_response(OpenGraphWriter& g, const Written& x) {
  if (x.dtype != DType::f32 || x.rank() != 4) return false;
  g.node(fmt::format("LRN({}) {{size={}}}", x.name, g.one_of({3, 5})));
  return true;
}

std::string resize_attributes(OpenGraphWriter& g) {
  const std::string mode = g.one_of({"nearest", "linear", "cubic"});
  const char* transform = g.one_of({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"});
  std::string text = fmt::format("mode=\"{}\", coordinate_transformation_mode=\"{}\"", mode, transform);
  if (mode == "nearest")
    text += fmt::format(", nearest_mode=\"{}\"",
                        g.one_of({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  if (mode == "cubic") text += fmt::format(", exclude_outside={}", g.below(2));
  return text;
}

bool resize(OpenGraphWriter& g, const Written& x) {
  if (x.dtype != DType::f32 || x.rank() < 3 || x.rank() > 4) return false;
  std::vector<float> scales(x.rank(), 1.0F);
  for (size_t i = 2; i < x.rank(); ++i) scales[i] = g.one_of({1.0F, 2.0F, 3.0F, 0.5F, 1.5F, 0.75F});
  std::string text;
  for (float scale : scales) text += fmt::format("{}{:.2f}", text.empty() ? "" : ", ", scale);
  const std::string given = g.floats(scales);
  g.node(fmt::format("Resize({}, _, {}) {{{}}}", x.name, given, resize_attributes(g)));
  return true;
}

/// Resizes to sizes computed from those of this picture, or those of another one.
bool resize_to_sizes(OpenGraphWriter& g, const Written& x) {
  if (x.dtype != DType::f32 || x.rank() < 3 || x.rank() > 4) return false;
  std::vector<std::string> parts;
  for (size_t i = 0; i < x.rank(); ++i) {
    std::string size = g.size_of(x, static_cast<int64_t>(i));
    if (i >= 2) {
      const std::string number = g.ints({g.between(1, 3)});
      switch (g.below(3)) {
        case 0:
          size = g.node(fmt::format("Mul({}, {})", size, number));
          break;
        case 1:
          size = g.node(fmt::format("Add({}, {})", size, number));
          break;
        default:
          const Written other{g.value(DType::f32, {g.random_size()}), DType::f32, {}};
          size = g.size_of(other, 0);
      }
    }
    parts.push_back(size);
  }
  const std::string sizes = g.node(fmt::format("Concat({}) {{axis=0}}", fmt::join(parts, ", ")));
  g.node(fmt::format("Resize({}, _, _, {}) {{{}}}", x.name, sizes, resize_attributes(g)));
  return true;
}

constexpr std::array windows = std::to_array<RandomOperator>({
    {"Conv", 20, convolution},
    {"ConvTranspose", 8, transposed},
    {"Pool", 12, pool},
    {"GlobalPool", 4, global_pool},
    {"LRN", 2, local_response},
    {"Resize", 8, resize},
    {"Resize to sizes", 8, resize_to_sizes},
});

}  // namespace

std::span<const RandomOperator> random_windows() { return windows; }

}  // namespace intarsia::test
