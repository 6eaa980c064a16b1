// The HTML page of an explanation. It is complete without its script, which only sorts, searches and
// enlarges.
#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "report/explain_page.h"
#include "report/explain_svg.h"
#include "report/html_cells.h"
#include "report/html_sections.h"
#include "report/html_text.h"
#include "report/report.h"

namespace intarsia {
namespace {

std::string base_name(const std::string& path) {
  const std::filesystem::path parts(path);
  return parts.has_filename() ? parts.filename().string() : parts.parent_path().filename().string();
}

std::string print_head(const std::string& subject) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<title>{0}: what runs where</title>\n<style>\n{1}</style>\n</head>\n<body>\n<main>\n"
      "<h1>{0}</h1>\n<p class=\"path\">{2}</p>\n",
      escape_html(base_name(subject)), page_style, escape_html(subject));
}

void add_total(std::string& list, const char* what, const std::string& amount) {
  if (!amount.empty()) list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", what, amount);
}

std::string print_totals(const Explanation& explanation) {
  std::string list;
  add_total(list, "nodes", std::to_string(explanation.nodes.size()));
  add_total(list, "regions", std::to_string(explanation.regions.size()));
  add_total(list, "copies between devices", std::to_string(explanation.copies.size()));
  std::optional<uint64_t> copied = uint64_t{0};
  for (const ExplainedCopy& copy : explanation.copies)
    copied = copied && copy.bytes ? std::optional(*copied + *copy.bytes) : std::nullopt;
  if (!explanation.copies.empty()) add_total(list, "copied in a run", print_bytes(copied));
  add_total(list, "a run, measured", print_milliseconds(explanation.measured));
  return fmt::format("<dl class=\"totals\">\n{}</dl>\n", list);
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

std::string print_picture(const Explanation& explanation) {
  return fmt::format(
      "<section>\n<h2 id=\"picture-title\">What runs where</h2>\n{}"
      "<div class=\"tools\" id=\"zoom\" hidden><button type=\"button\" data-zoom=\"out\" "
      "aria-label=\"Smaller\">−</button><button type=\"button\" data-zoom=\"in\" "
      "aria-label=\"Larger\">+</button><button type=\"button\" data-zoom=\"fit\">Fit width</button>"
      "<button type=\"button\" data-zoom=\"all\">Full size</button></div>\n"
      "<div class=\"picture\" tabindex=\"0\" role=\"region\" aria-labelledby=\"picture-title\">\n{}</div>\n"
      "{}</section>\n",
      print_legend(explanation), draw_regions(explanation),
      explanation.copies.empty() ? "" : html_note("Dashed: values that are copied between devices."));
}

}  // namespace

std::string explain_html(const Explanation& explanation, const std::string& subject) {
  std::string links, tables;
  for (const auto& [id, title, content] : html_sections(explanation)) {
    links += fmt::format("<a href=\"#{}-title\">{}</a>\n", id, title);
    tables += fmt::format("<section>\n<h2 id=\"{}-title\">{}</h2>\n{}</section>\n", id, title, content);
  }
  return print_head(subject) + print_totals(explanation) + "<nav aria-label=\"Sections\">\n" + links +
         "</nav>\n" + print_picture(explanation) + tables +
         fmt::format("</main>\n<script>\n{}</script>\n</body>\n</html>\n", page_script);
}

}  // namespace intarsia
