#include "report/layer_layout.h"

#include <algorithm>
#include <numeric>

namespace intarsia {
namespace {

constexpr double gap = 24;           // distance between neighbors in a row
constexpr double passing_width = 8;  // width of an edge that passes a row
constexpr double label_height = 20, row_gap = 14, margin = 12;
constexpr size_t most_places = 20'000;  // limit on the places of edges in rows that they pass
constexpr int sweeps = 4;               // passes down and up again

/// A box, or a piece of an edge in a row.
struct Place {
  double width = 0, x = 0;
  size_t row = 0;
  std::vector<size_t> above, below;  // indices of places
};

struct Borders {
  double top = 0, bottom = 0;
};

/// Returns the centers closest to the wished ones, by least squares, that keep order and distance: runs of
/// neighbors that would overlap move together.
std::vector<double> keep_apart(const std::vector<double>& wished, const std::vector<double>& widths) {
  struct Run {
    double sum = 0;
    double count = 0;
    double mean() const { return sum / count; }
  };
  std::vector<Run> runs;
  std::vector<double> offsets;
  for (size_t i = 0; i < wished.size(); ++i) {
    offsets.push_back(i == 0 ? 0 : offsets.back() + (widths[i - 1] + widths[i]) / 2 + gap);
    runs.push_back({wished[i] - offsets[i], 1});
    while (runs.size() > 1 && runs[runs.size() - 2].mean() > runs.back().mean()) {
      const Run last = runs.back();
      runs.pop_back();
      runs.back().sum += last.sum;
      runs.back().count += last.count;
    }
  }
  std::vector<double> centers;
  for (const Run& run : runs) {
    for (double i = 0; i < run.count; ++i) centers.push_back(run.mean() + offsets[centers.size()]);
  }
  return centers;
}

class Arrangement {
 public:
  explicit Arrangement(LayerLayout& layout) : layout_(layout) {}

  void run() {
    find_rows();
    for (LayoutEdge& edge : layout_.edges) add_edge(edge);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (size_t row = 1; row < rows_.size(); ++row) arrange_row(row, &Place::above);
      for (size_t row = rows_.size(); row-- > 0;) arrange_row(row, &Place::below);
    }
    for (size_t row = 1; row < rows_.size(); ++row) arrange_row(row, &Place::above);
    finish();
  }

 private:
  /// Assigns boxes to even rows; labels go to odd ones.
  void find_rows() {
    std::vector<std::vector<size_t>> next(layout_.boxes.size());
    for (const LayoutEdge& edge : layout_.edges) next[edge.from].push_back(edge.to);
    std::vector<size_t> level(layout_.boxes.size(), 0);
    for (size_t box = 0; box < level.size(); ++box) {
      for (size_t reader : next[box]) level[reader] = std::max(level[reader], level[box] + 1);
    }
    for (size_t box = 0; box < level.size(); ++box) add_place(layout_.boxes[box].width, 2 * level[box]);
  }

  size_t add_place(double width, size_t row) {
    if (rows_.size() <= row) rows_.resize(row + 1);
    rows_[row].push_back(places_.size());
    places_.push_back({.width = width, .row = row});
    return places_.size() - 1;
  }

  void add_edge(const LayoutEdge& edge) {
    const size_t first = places_[edge.from].row + 1, end = places_[edge.to].row;
    std::vector<size_t> passed{add_place(edge.label_width, first)};
    if (places_.size() + end - first < most_places) {
      for (size_t row = first + 1; row < end; ++row) passed.push_back(add_place(passing_width, row));
    }
    size_t above = edge.from;
    for (size_t place : passed) {
      connect(above, place);
      above = place;
    }
    connect(above, edge.to);
    passed_.push_back(std::move(passed));
  }

  void connect(size_t above, size_t below) {
    places_[above].below.push_back(below);
    places_[below].above.push_back(above);
  }

  void arrange_row(size_t row, std::vector<size_t> Place::* neighbors) {
    std::vector<size_t>& places = rows_[row];
    std::vector<std::pair<double, size_t>> wished;
    for (size_t place : places) {
      const std::vector<size_t>& near = places_[place].*neighbors;
      double sum = 0;
      for (size_t other : near) sum += places_[other].x;
      wished.emplace_back(near.empty() ? places_[place].x : sum / static_cast<double>(near.size()), place);
    }
    std::ranges::stable_sort(wished, {}, &std::pair<double, size_t>::first);
    std::vector<double> centers, widths;
    for (size_t i = 0; i < wished.size(); ++i) {
      places[i] = wished[i].second;
      centers.push_back(wished[i].first);
      widths.push_back(places_[places[i]].width);
    }
    const std::vector<double> apart = keep_apart(centers, widths);
    for (size_t i = 0; i < places.size(); ++i) places_[places[i]].x = apart[i];
  }

  double row_height(size_t row) const {
    double height = row % 2 == 1 ? label_height : 0;
    for (size_t place : rows_[row]) {
      if (place < layout_.boxes.size()) height = std::max(height, layout_.boxes[place].height);
    }
    return height;
  }

  void finish() {
    double left = 0, right = 0;
    for (const Place& place : places_) {
      left = std::min(left, place.x - place.width / 2);
      right = std::max(right, place.x + place.width / 2);
    }
    const double to_right = margin - left;
    double bottom = margin - row_gap;
    for (size_t row = 0; row < rows_.size(); ++row) {
      borders_.push_back({bottom + row_gap, bottom + row_gap + row_height(row)});
      bottom = borders_.back().bottom;
    }
    layout_.width = right - left + 2 * margin;
    layout_.height = bottom + margin;
    for (Place& place : places_) place.x += to_right;
    for (size_t box = 0; box < layout_.boxes.size(); ++box) {
      const Borders& row = borders_[places_[box].row];
      layout_.boxes[box].center = {places_[box].x, (row.top + row.bottom) / 2};
    }
    for (size_t e = 0; e < layout_.edges.size(); ++e) draw_route(layout_.edges[e], passed_[e]);
  }

  void draw_route(LayoutEdge& edge, const std::vector<size_t>& passed) const {
    const LayoutBox &from = layout_.boxes[edge.from], &to = layout_.boxes[edge.to];
    edge.route.push_back({from.center.x, from.center.y + from.height / 2});
    for (size_t number : passed) {
      const Place& place = places_[number];
      edge.route.push_back({place.x, borders_[place.row].top});
      edge.route.push_back({place.x, borders_[place.row].bottom});
    }
    edge.label = {edge.route[1].x, (edge.route[1].y + edge.route[2].y) / 2};
    edge.route.push_back({to.center.x, to.center.y - to.height / 2});
  }

  LayerLayout& layout_;
  std::vector<Place> places_;  // boxes come first
  std::vector<std::vector<size_t>> rows_;
  std::vector<std::vector<size_t>> passed_;  // places that each edge passes
  std::vector<Borders> borders_;             // indexed by row
};

}  // namespace

void arrange_layers(LayerLayout& layout) {
  if (!layout.boxes.empty()) Arrangement(layout).run();
}

}  // namespace intarsia
