// The HTML page of an explanation.
#include <fmt/format.h>

#include <map>

#include "report/explain_svg.h"
#include "report/html_cells.h"
#include "report/html_page.h"
#include "report/html_page_files.h"
#include "report/html_sections.h"
#include "report/report.h"

namespace intarsia {
namespace {

std::string print_totals(const Explanation& explanation) {
  std::optional<uint64_t> copied = uint64_t{0};
  for (const ExplainedCopy& copy : explanation.copies)
    copied = copied && copy.bytes ? std::optional(*copied + *copy.bytes) : std::nullopt;
  return html_totals({{"nodes", std::to_string(explanation.nodes.size())},
                      {"regions", std::to_string(explanation.regions.size())},
                      {"copies between devices", std::to_string(explanation.copies.size())},
                      {"copied in a run", explanation.copies.empty() ? "" : print_bytes(copied)},
                      {"a run, measured", print_milliseconds(explanation.measured)}});
}

std::string print_legend(const Explanation& explanation) {
  const std::map<std::string, size_t> colors = number_targets(explanation);
  std::map<std::string, size_t> nodes;
  for (const ExplainedNode& node : explanation.nodes) ++nodes[explanation.regions[node.region].target];
  std::string items;
  for (const auto& [target, count] : nodes)
    items += fmt::format("<li>{} {} node{}</li>\n", target_cell(colors, target).html, count,
                         count == 1 ? "" : "s");
  return fmt::format("<ul class=\"legend\">\n{}</ul>\n", items);
}

HtmlSection picture_section(const Explanation& explanation) {
  return {
      "picture", "What runs where",
      fmt::format(
          "{}<div class=\"tools\" id=\"zoom\" hidden><button type=\"button\" data-zoom=\"out\" "
          "aria-label=\"Smaller\">−</button><button type=\"button\" data-zoom=\"in\" "
          "aria-label=\"Larger\">+</button><button type=\"button\" data-zoom=\"fit\">Fit width</button>"
          "<button type=\"button\" data-zoom=\"all\">Full size</button></div>\n"
          "<div class=\"picture\" tabindex=\"0\" role=\"region\" aria-labelledby=\"picture-title\">\n{}"
          "</div>\n{}",
          print_legend(explanation), draw_regions(explanation),
          explanation.copies.empty() ? "" : html_note("Dashed: values that are copied between devices."))};
}

}  // namespace

std::string explain_html(const Explanation& explanation, const std::string& subject) {
  std::vector<HtmlSection> sections = html_sections(explanation);
  sections.insert(sections.begin(), picture_section(explanation));
  return html_page(
      {subject, "what runs where", explain_style, print_totals(explanation), std::move(sections)});
}

}  // namespace intarsia
