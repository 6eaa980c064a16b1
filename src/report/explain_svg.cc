#include "report/explain_svg.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "report/html_text.h"
#include "report/layer_layout.h"
#include "report/report.h"

namespace intarsia {
namespace {

constexpr size_t target_colors = 8;
constexpr double line_height = 17, box_padding = 20;
constexpr double letter_width = 6.9, bold_letter_width = 7.7;  // mean width in the page's font
constexpr size_t most_letters = 42;                            // limit per line of a box
constexpr size_t most_named = 12;                              // most values that a tooltip lists

/// Data that flows from one region to another, from inputs or to outputs.
struct Stream {
  std::set<std::string> values;
  std::optional<uint64_t> bytes = uint64_t{0};
  bool copied = false;
};

/// A box with lines of text, the first in bold.
struct RegionBox {
  std::vector<std::string> lines;
  std::string style, link, tooltip;
  std::optional<size_t> stage = {};
};

size_t count_letters(const std::string& text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

double text_width(const std::string& text) { return static_cast<double>(count_letters(text)) * letter_width; }

class RegionPicture {
 public:
  explicit RegionPicture(const Explanation& explanation)
      : explanation_(explanation),
        numbers_(number_targets(explanation)),
        stages_(stages_of_regions(explanation)) {}

  std::string draw() {
    boxes_.push_back(port_box("input", explanation_.inputs));
    for (size_t r = 0; r < explanation_.regions.size(); ++r) boxes_.push_back(region_box(r));
    boxes_.push_back(port_box("output", explanation_.outputs));
    find_streams();
    for (const RegionBox& box : boxes_) layout_.boxes.push_back(size_of(box));
    for (const auto& [ends, stream] : streams_)
      layout_.edges.push_back({ends.first, ends.second, text_width(label_of(stream)) + 8});
    arrange_layers(layout_);
    return print();
  }

 private:
  static RegionBox port_box(const char* noun, const std::vector<ExplainedPort>& ports) {
    RegionBox box{
        {ports.size() == 1 ? std::string(noun) : fmt::format("{} {}s", ports.size(), noun)}, "port", "", ""};
    std::vector<std::string> names;
    for (const ExplainedPort& port : ports) names.push_back(port.name);
    box.tooltip = fmt::format("{}", fmt::join(names, ", "));
    if (!names.empty()) box.lines.push_back(shorten(box.tooltip, most_letters));
    return box;
  }

  RegionBox region_box(size_t number) const {
    const ExplainedRegion& region = explanation_.regions[number];
    RegionBox box{{shorten(fmt::format("{} · {}", number, region.target), most_letters)},
                  target_class(numbers_, region.target),
                  fmt::format("#region-{}", number),
                  fmt::format("region {}, {}: {}", number, region.target, sum_up_ops(explanation_, number))};
    std::string amount = fmt::format("{} node{}", region.nodes.size(), region.nodes.size() == 1 ? "" : "s");
    if (const auto time = region.time()) amount += " · " + print_milliseconds(time);
    box.stage = stages_[number];
    box.lines.push_back(box.stage ? fmt::format("stage {} · {}", *box.stage, amount) : amount);
    box.lines.push_back(shorten(sum_up_ops(explanation_, number), most_letters));
    return box;
  }

  static LayoutBox size_of(const RegionBox& box) {
    double width = text_width(box.lines[0]) * bold_letter_width / letter_width;
    for (const std::string& line : box.lines) width = std::max(width, text_width(line));
    return {std::max(width + box_padding, 90.0),
            static_cast<double>(box.lines.size()) * line_height + box_padding / 2};
  }

  void find_streams() {
    const size_t outputs = boxes_.size() - 1;
    for (const ExplainedFlow& flow : explanation_.flows) {
      const size_t from = static_cast<size_t>(flow.from_region + 1);
      const size_t to = flow.to_region < 0 ? outputs : static_cast<size_t>(flow.to_region) + 1;
      if (from >= to) continue;
      Stream& stream = streams_[{from, to}];
      if (!stream.values.insert(flow.value).second) continue;
      stream.bytes = stream.bytes && flow.bytes ? std::optional(*stream.bytes + *flow.bytes) : std::nullopt;
      stream.copied |= flow.copied;
    }
  }

  static std::string label_of(const Stream& stream) {
    const std::string what = stream.values.size() == 1 ? shorten_name(*stream.values.begin(), 24)
                                                       : fmt::format("{} values", stream.values.size());
    return fmt::format("{}{}{}", stream.copied ? "copy: " : "", what,
                       stream.bytes ? ", " + print_bytes(stream.bytes) : "");
  }

  static std::string names_of(const Stream& stream) {
    std::vector<std::string> names;
    for (const std::string& name : stream.values) {
      if (names.size() < most_named) names.push_back(name);
    }
    if (names.size() < stream.values.size())
      names.push_back(fmt::format("and {} more", stream.values.size() - names.size()));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  std::string print() const {
    std::string text = fmt::format(
        "<svg id=\"picture\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"group\" aria-label=\"Regions and what flows between "
        "them\">\n",
        layout_.width, layout_.height);
    size_t edge = 0;
    for (const auto& [ends, stream] : streams_) text += print_stream(stream, layout_.edges[edge++]);
    for (size_t i = 0; i < boxes_.size(); ++i) text += print_box(boxes_[i], layout_.boxes[i]);
    return text + "</svg>\n";
  }

  static std::string print_stream(const Stream& stream, const LayoutEdge& edge) {
    std::string path = fmt::format("M{:.1f} {:.1f}", edge.route[0].x, edge.route[0].y);
    for (size_t i = 1; i < edge.route.size(); ++i) {
      const LayoutPoint &from = edge.route[i - 1], &to = edge.route[i];
      const double middle = (from.y + to.y) / 2;
      if (i % 2 == 0)
        path += fmt::format("V{:.1f}", to.y);
      else
        path += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", from.x, middle, to.x, middle, to.x,
                            to.y);
    }
    const LayoutPoint& end = edge.route.back();
    return fmt::format(
        "<g class=\"stream{}\"><title>{}</title><path d=\"{}\"/>"
        "<path class=\"tip\" d=\"M{:.1f} {:.1f}l-4 -7h8z\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
        stream.copied ? " copied" : "", escape_html(names_of(stream)), path, end.x, end.y, edge.label.x,
        edge.label.y + 4, escape_html(label_of(stream)));
  }

  static std::string print_box(const RegionBox& box, const LayoutBox& place) {
    const double left = place.center.x - place.width / 2, top = place.center.y - place.height / 2;
    std::string text = fmt::format(
        "<g class=\"box {}\"><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\" rx=\"6\"/>",
        box.style, escape_html(box.tooltip), left, top, place.width, place.height);
    for (size_t i = 0; i < box.lines.size(); ++i) {
      text += fmt::format(
          "<text{} x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", i == 0 ? " class=\"name\"" : "", place.center.x,
          top + box_padding / 4 + (static_cast<double>(i) + 0.75) * line_height, escape_html(box.lines[i]));
    }
    if (box.stage)
      text += fmt::format("<path class=\"stage\" style=\"--stage:{}\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>",
                          *box.stage, left + 3, top + 6, place.height - 12);
    text += "</g>";
    return box.link.empty() ? text + "\n" : fmt::format("<a href=\"{}\">{}</a>\n", box.link, text);
  }

  const Explanation& explanation_;
  const std::map<std::string, size_t> numbers_;
  const std::vector<std::optional<size_t>> stages_;      // stage of each region
  std::vector<RegionBox> boxes_;                         // inputs, regions, outputs
  std::map<std::pair<size_t, size_t>, Stream> streams_;  // keyed by the two boxes
  LayerLayout layout_;
};

}  // namespace

std::map<std::string, size_t> number_targets(const Explanation& explanation) {
  std::map<std::string, size_t> numbers;
  for (const ExplainedRegion& region : explanation.regions) {
    if (!region.target.starts_with("nobody@")) numbers.try_emplace(region.target, numbers.size());
  }
  return numbers;
}

std::string target_class(const std::map<std::string, size_t>& numbers, const std::string& target) {
  const auto number = numbers.find(target);
  return number == numbers.end() ? "nobody" : fmt::format("t{}", number->second % target_colors);
}

std::string draw_regions(const Explanation& explanation) { return RegionPicture(explanation).draw(); }

}  // namespace intarsia
