#include <algorithm>
#include <map>
#include <set>

#include "report/report.h"

namespace intarsia {
namespace {

/// Node count above which a picture shows large regions as one box each.
constexpr size_t most_nodes_drawn = 60;
constexpr size_t large_region = 12;

/// Puts the text in double quotes; backslashes and quotes are escaped, and control characters become spaces.
std::string quote(const std::string& text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '\n') {
      quoted += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + '"';
}

class Picture {
 public:
  explicit Picture(const Explanation& explanation) : explanation_(explanation) {
    const char* colors[] = {"#cfe8cf", "#cfdcf2", "#f6dfc4", "#ead2ea",
                            "#f4f0c2", "#d0eeee", "#f2cccc", "#dddddd"};
    for (const ExplainedRegion& region : explanation.regions) {
      color_of_.try_emplace(region.target, colors[color_of_.size() % std::size(colors)]);
    }
  }

  std::string draw(const std::string& subject) {
    text_ = fmt::format("digraph {} {{\n", quote(subject));
    text_ += "  compound=true; rankdir=TB; fontname=Helvetica; labelloc=t;\n";
    text_ += fmt::format("  label={};\n", quote(subject));
    text_ +=
        "  node [shape=box, style=\"filled,rounded\", fillcolor=white, fontname=Helvetica, fontsize=10, "
        "height=0.2];\n";
    text_ += "  edge [fontname=Helvetica, fontsize=9, arrowsize=0.6];\n";
    draw_ports("in", explanation_.inputs);
    draw_ports("out", explanation_.outputs);
    for (size_t r = 0; r < explanation_.regions.size(); ++r) draw_region(r);
    for (const ExplainedFlow& flow : explanation_.flows) draw_flow(flow);
    return text_ + "}\n";
  }

 private:
  bool is_collapsed(size_t region) const {
    const size_t nodes = explanation_.regions[region].nodes.size();
    return nodes == 0 || (explanation_.nodes.size() > most_nodes_drawn && nodes > large_region);
  }

  void draw_ports(const char* prefix, const std::vector<ExplainedPort>& ports) {
    for (const ExplainedPort& port : ports) {
      text_ += fmt::format("  {} [label={}, shape=ellipse];\n", quote(std::string(prefix) + ":" + port.name),
                           quote(port.name));
    }
  }

  void draw_region(size_t number) {
    const ExplainedRegion& region = explanation_.regions[number];
    const std::string title = fmt::format("region {}: {}", number, region.target);
    const char* color = color_of_.at(region.target);
    if (is_collapsed(number)) {
      const std::string label =
          fmt::format("{}\n{} nodes: {}", title, region.nodes.size(), sum_up_ops(explanation_, number));
      text_ += fmt::format("  r{} [label={}, fillcolor=\"{}\"];\n", number, quote(label), color);
      return;
    }
    text_ += fmt::format("  subgraph cluster_{} {{\n    label={}; style=filled; color=\"{}\";\n", number,
                         quote(title), color);
    for (size_t node : region.nodes) {
      text_ += fmt::format("    n{} [label={}, tooltip={}];\n", node, quote(explanation_.nodes[node].op),
                           quote(explanation_.nodes[node].name + ": " + explanation_.nodes[node].reason));
    }
    if (!nodes_are_wired()) draw_chain(region.nodes);
    text_ += "  }\n";
  }

  /// Checks whether readers of nodes are known; a program only tells the order of nodes.
  bool nodes_are_wired() const {
    return std::ranges::any_of(explanation_.flows, [](const ExplainedFlow& flow) {
      return flow.from_node >= 0 || flow.to_node >= 0;
    });
  }

  void draw_chain(const std::vector<size_t>& nodes) {
    for (size_t i = 1; i < nodes.size(); ++i) {
      text_ += fmt::format("    n{} -> n{} [arrowhead=none, color=gray];\n", nodes[i - 1], nodes[i]);
    }
  }

  /// End of an edge, and the cluster to clip the edge to (empty for none).
  struct End {
    std::string name;
    std::string cluster;
  };

  End find_end(int region, int node, const std::string& port, bool first) const {
    if (region < 0) return {quote(port), ""};
    const auto number = static_cast<size_t>(region);
    if (is_collapsed(number)) return {fmt::format("r{}", region), ""};
    if (node >= 0) return {fmt::format("n{}", node), ""};
    const std::vector<size_t>& nodes = explanation_.regions[number].nodes;
    return {fmt::format("n{}", first ? nodes.front() : nodes.back()), fmt::format("cluster_{}", region)};
  }

  void draw_flow(const ExplainedFlow& flow) {
    const End from = find_end(flow.from_region, flow.from_node, "in:" + flow.value, false);
    const End to = find_end(flow.to_region, flow.to_node, "out:" + flow.value, true);
    if (from.name == to.name ||
        !drawn_.insert(from.name + "\n" + to.name + "\n" + (flow.copied ? flow.value : "")).second)
      return;
    std::string style;
    if (flow.copied) {
      style = fmt::format("style=dashed, color=\"#b03030\", fontcolor=\"#b03030\", label={}",
                          quote(flow.value + "\n" + print_bytes(flow.bytes)));
    }
    if (!from.cluster.empty()) style += (style.empty() ? "" : ", ") + fmt::format("ltail={}", from.cluster);
    if (!to.cluster.empty()) style += (style.empty() ? "" : ", ") + fmt::format("lhead={}", to.cluster);
    text_ += fmt::format("  {} -> {} [{}];\n", from.name, to.name, style);
  }

  const Explanation& explanation_;
  std::map<std::string, const char*> color_of_;
  std::set<std::string> drawn_;
  std::string text_;
};

}  // namespace

std::string explain_dot(const Explanation& explanation, const std::string& subject) {
  return Picture(explanation).draw(subject);
}

}  // namespace intarsia
