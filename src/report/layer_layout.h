// Layout of boxes and edges in a picture that is read from top to bottom.
#pragma once

#include <cstddef>
#include <vector>

namespace intarsia {

struct LayoutPoint {
  double x = 0, y = 0;
};

/// A box whose size is given, in pixels, and whose center is computed.
struct LayoutBox {
  double width = 0, height = 0;
  LayoutPoint center = {};
};

/// An edge from a box to one with a higher number. `label_width` is given; `label` is the center of the
/// label, and `route` leads from the lower border of one box to the upper border of the other: pieces between
/// points with odd and even numbers (the second and third, ...) are vertical.
struct LayoutEdge {
  size_t from = 0, to = 0;
  double label_width = 0;
  LayoutPoint label = {};
  std::vector<LayoutPoint> route = {};
};

struct LayerLayout {
  std::vector<LayoutBox> boxes;
  std::vector<LayoutEdge> edges;
  double width = 0, height = 0;  // size of the whole picture
};

/// Places boxes, labels and edges. Each box goes to the first row below all boxes that it reads from. Between
/// rows of boxes are rows of labels; an edge that passes rows has a place of its own in each, so that nothing
/// covers it. (If this needs too many places, the longest edges run straight.) Rows are ordered so that few
/// edges cross, by the means of their neighbors: K. Sugiyama, S. Tagawa and M. Toda, 1981.
void arrange_layers(LayerLayout& layout);

}  // namespace intarsia
