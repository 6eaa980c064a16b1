// Where boxes and the edges between them go in a picture that is read from top to bottom.
#pragma once

#include <cstddef>
#include <vector>

namespace intarsia {

struct LayoutPoint {
  double x = 0, y = 0;
};

/// Sizes are given, in pixels; the center is found.
struct LayoutBox {
  double width = 0, height = 0;
  LayoutPoint center = {};
};

/// From a box to one with a higher number. `label_width` is given; `label` is the center of the label, and
/// `route` leads from the lower border of one box to the upper border of the other: pieces between points
/// with odd and even numbers (the second and third, ...) are vertical.
struct LayoutEdge {
  size_t from = 0, to = 0;
  double label_width = 0;
  LayoutPoint label = {};
  std::vector<LayoutPoint> route = {};
};

struct LayerLayout {
  std::vector<LayoutBox> boxes;
  std::vector<LayoutEdge> edges;
  double width = 0, height = 0;  // of all
};

/// Each box goes to the first row below all that it reads from. Between rows of boxes are rows of labels;
/// an edge that passes rows has a place of its own in each, so that nothing lies over it. (Not where this
/// would need a great many places: then the longest edges run straight.) Rows are ordered so that edges cross
/// little, by the means of their neighbors: K. Sugiyama, S. Tagawa and M. Toda, 1981.
void arrange_layers(LayerLayout& layout);

}  // namespace intarsia
