#include "report/html_page.h"

#include <fmt/format.h>

#include <filesystem>

#include "report/html_page_files.h"
#include "report/html_text.h"

namespace intarsia {
namespace {

std::string base_name(const std::string& path) {
  const std::filesystem::path parts(path);
  return parts.has_filename() ? parts.filename().string() : parts.parent_path().filename().string();
}

std::string print_head(const HtmlPage& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<title>{0}: {1}</title>\n<style>\n{2}{3}</style>\n</head>\n<body>\n<main>\n"
      "<h1>{0}</h1>\n<p class=\"path\">{4}</p>\n",
      escape_html(base_name(page.subject)), page.what, page_style, page.style, escape_html(page.subject));
}

}  // namespace

std::string html_note(const std::string& text) { return fmt::format("<p class=\"note\">{}</p>\n", text); }

std::string html_totals(const std::vector<std::pair<const char*, std::string>>& totals) {
  std::string list;
  for (const auto& [name, amount] : totals)
    if (!amount.empty()) list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, amount);
  return fmt::format("<dl class=\"totals\">\n{}</dl>\n", list);
}

std::string html_page(const HtmlPage& page) {
  std::string links, sections;
  for (const auto& [id, title, content] : page.sections) {
    links += fmt::format("<a href=\"#{}-title\">{}</a>\n", id, title);
    sections += fmt::format("<section>\n<h2 id=\"{}-title\">{}</h2>\n{}</section>\n", id, title, content);
  }
  return print_head(page) + page.lead + "<nav aria-label=\"Sections\">\n" + links + "</nav>\n" + sections +
         fmt::format("</main>\n<script>\n{}</script>\n</body>\n</html>\n", page_script);
}

}  // namespace intarsia
