#include "report/rewrite_html.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "report/html_cells.h"
#include "report/html_page.h"
#include "report/html_page_files.h"
#include "report/html_table.h"
#include "report/html_text.h"
#include "report/report.h"

namespace intarsia {
namespace {

using Timed = RewriteReport::Timed;

std::string count_of(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

double speedup(const TimesInTensorFlow& times) {
  return static_cast<double>(times.original) / static_cast<double>(std::max<int64_t>(times.rewritten, 1));
}

std::string print_speedup(double factor) { return fmt::format("{:.2f}", factor); }

bool has_times(const Timed& timed) { return timed.why_not.empty(); }

/// Returns the signatures that run a part.
std::set<std::string> find_rewritten(const RewriteReport& report) {
  std::set<std::string> names;
  for (const ReplacedPart& part : report.parts) names.insert(part.signatures.begin(), part.signatures.end());
  return names;
}

/// Returns the signatures of which nothing was timed, as nothing in them was replaced.
std::set<std::string> find_untouched(const RewriteReport& report) {
  std::set<std::string> names;
  for (const KeptPart& part : report.kept) names.insert(part.signatures.begin(), part.signatures.end());
  for (const Timed& timed : report.signatures) names.erase(timed.signature);
  return names;
}

/// Returns how many times as fast signatures with parts are, ascending.
std::vector<double> find_speedups(const RewriteReport& report) {
  const std::set<std::string> rewritten = find_rewritten(report);
  std::vector<double> factors;
  for (const Timed& timed : report.signatures)
    if (has_times(timed) && rewritten.contains(timed.signature)) factors.push_back(speedup(timed.times));
  std::ranges::sort(factors);
  return factors;
}

/// Returns "1.42", or "1.10 to 8.60"; empty if nothing was timed.
std::string print_speedups(const std::vector<double>& factors) {
  if (factors.empty()) return "";
  const std::string least = print_speedup(factors.front()), most = print_speedup(factors.back());
  return least == most ? least : fmt::format("{} to {}", least, most);
}

std::string print_summary(const RewriteReport& report) {
  if (report.parts.empty())
    return "<p class=\"summary\">Nothing in this model is faster outside of TensorFlow. "
           "The result is a copy of it.</p>\n";
  const size_t rewritten = find_rewritten(report).size();
  const size_t all = report.signatures.size() + find_untouched(report).size();
  const std::string where = rewritten < all ? fmt::format("in {} of {} signatures", rewritten, all)
                            : all == 1      ? "in its signature"
                            : all == 2      ? "in both signatures"
                                            : fmt::format("in all {} signatures", all);
  const std::string factors = print_speedups(find_speedups(report));
  return fmt::format(
      "<p class=\"summary\">{} of this model now run{} compiled, {}. {}All else is TensorFlow's, as it "
      "was.</p>\n",
      count_of(report.parts.size(), "part"), report.parts.size() == 1 ? "s" : "", where,
      factors.empty() ? "No signature could be timed. "
                      : fmt::format("In TensorFlow that is <strong>{} times as fast</strong>. ", factors));
}

std::string print_totals(const RewriteReport& report) {
  size_t nodes = 0;
  for (const ReplacedPart& part : report.parts) nodes += part.nodes;
  return html_totals({{"times as fast", print_speedups(find_speedups(report))},
                      {"compiled parts", std::to_string(report.parts.size())},
                      {"nodes in them", std::to_string(nodes)},
                      {"size, before", print_bytes(report.before.total())},
                      {"size, now", print_bytes(report.after.total())},
                      {"rewritten in", fmt::format("{:.3g} s", report.seconds)}});
}

/// Returns one bar of a signature: `share` is its part of the longest.
std::string print_bar(const char* what, const char* color, double share, int64_t nanoseconds) {
  return fmt::format(
      "<span>{}</span><span class=\"track\"><span class=\"bar {}\" style=\"width:{:.2f}%\"></span></span>"
      "<span class=\"number\">{}</span>\n",
      what, color, share * 100, print_milliseconds(nanoseconds));
}

std::string print_bars(const TimesInTensorFlow& times, bool is_rewritten) {
  const auto longest = static_cast<double>(std::max({times.original, times.rewritten, int64_t{1}}));
  const auto share = [&](int64_t time) { return static_cast<double>(time) / longest; };
  return fmt::format("<div class=\"bars\">\n{}{}</div>\n",
                     print_bar("before", "t7", share(times.original), times.original),
                     print_bar(is_rewritten ? "now" : "compiled", is_rewritten ? "t0" : "t2",
                               share(times.rewritten), times.rewritten));
}

/// Returns "at words: string[4,20]; results differ by 1e-07 of the largest at most".
std::string print_circumstances(const TimesInTensorFlow& times) {
  std::vector<std::string> inputs;
  for (const TimedInput& input : times.inputs)
    inputs.push_back(
        fmt::format("{}: {}[{}]", input.name, dtype_name(input.dtype), fmt::join(input.shape, ",")));
  const std::string differ =
      times.difference == 0
          ? "results are equal"
          : fmt::format("results differ by at most {:.2g} of the largest element", times.difference);
  return inputs.empty() ? differ : fmt::format("at {}; {}", fmt::join(inputs, ", "), differ);
}

std::string print_signature(const Timed& timed, bool is_rewritten) {
  const std::string name = escape_html(timed.signature);
  if (!has_times(timed))
    return fmt::format(
        "<li><h3>{}</h3>\n<p class=\"verdict\">not timed</p>\n<p class=\"muted\">{}</p></li>\n", name,
        escape_html(timed.why_not));
  return fmt::format(
      "<li><h3>{}</h3>\n<p class=\"verdict\">{}</p>\n{}<p class=\"muted\">{}</p></li>\n", name,
      is_rewritten ? print_speedup(speedup(timed.times)) + " times as fast" : "stays as it was",
      print_bars(timed.times, is_rewritten), escape_html(print_circumstances(timed.times)));
}

std::optional<HtmlSection> signatures_section(const RewriteReport& report) {
  const std::set<std::string> rewritten = find_rewritten(report), untouched = find_untouched(report);
  if (report.signatures.empty() && untouched.empty()) return std::nullopt;
  std::string list;
  for (const Timed& timed : report.signatures)
    list += print_signature(timed, rewritten.contains(timed.signature));
  std::string content;
  if (!list.empty())
    content +=
        html_note("A run in TensorFlow, the median of several. Bars of one signature have one scale.") +
        fmt::format("<ul class=\"signatures\">\n{}</ul>\n", list);
  if (!untouched.empty())
    content += html_note(fmt::format("As before, and not timed: {}.",
                                     escape_html(fmt::format("{}", fmt::join(untouched, ", ")))));
  return HtmlSection{"signatures", "Signatures", content};
}

std::vector<std::string> sources_of(const std::vector<ExchangedTensor>& tensors) {
  std::vector<std::string> sources;
  for (const ExchangedTensor& tensor : tensors) sources.push_back(tensor.source);
  return sources;
}

std::string print_operators(const ReplacedPart& part) {
  std::vector<std::string> counts;
  for (const auto& [name, count] : part.operators) counts.push_back(fmt::format("{} {}", count, name));
  return fmt::format("{}", fmt::join(counts, ", "));
}

HtmlCell speedup_cell(const std::optional<TimesInTensorFlow>& times) {
  if (!times) return {};
  return {print_speedup(speedup(*times)), fmt::format("{}", speedup(*times))};
}

/// Returns the program's function, with what the user wanted it to replace.
std::string name_of_part(const ReplacedPart& part) {
  if (!part.is_by_hand()) return part.function;
  return fmt::format("{} of {}, for {}", part.function, part.program, part.scope);
}

std::optional<HtmlSection> parts_section(const RewriteReport& report) {
  if (report.parts.empty()) return std::nullopt;
  HtmlTable table("parts", {{"Function", "name"},
                            {"Nodes", "number"},
                            {"Before", "number"},
                            {"Compiled", "number"},
                            {"Times as fast", "number"},
                            {"Operators", "long"},
                            {"Signatures"},
                            {"Within", "name"},
                            {"Inputs", "long"},
                            {"Outputs", "long"}});
  bool are_all_timed = true;
  for (const ReplacedPart& part : report.parts) {
    const auto time = [&](int64_t TimesInTensorFlow::* which) {
      return time_cell(part.times ? std::optional((*part.times).*which) : std::nullopt);
    };
    are_all_timed = are_all_timed && part.times;
    table.add_row({text_cell(name_of_part(part)), count_cell(part.nodes), time(&TimesInTensorFlow::original),
                   time(&TimesInTensorFlow::rewritten), speedup_cell(part.times),
                   text_cell(print_operators(part)), list_cell(part.signatures),
                   text_cell(part.where.empty() ? "the model's own graph" : part.where),
                   folded_cell(sources_of(part.call.inputs), "tensor"),
                   folded_cell(sources_of(part.call.outputs), "tensor")});
  }
  return HtmlSection{
      "parts", "Replaced parts",
      html_note(fmt::format(
          "Each is a function of the program, which stands for these nodes of the model, as imported, within "
          "a "
          "function of the model. Times are those of the part alone.{}",
          are_all_timed ? ""
                        : " A part without times is all that its signatures compute, whose times it has.")) +
          table.print()};
}

/// Returns the parts that stay, those with one reason together.
std::optional<HtmlSection> kept_section(const RewriteReport& report) {
  if (report.kept.empty()) return std::nullopt;
  std::map<std::string, std::vector<const KeptPart*>> reasons;
  for (const KeptPart& part : report.kept) reasons[part.why].push_back(&part);
  HtmlTable table("kept", {{"Why", "long"}, {"What stays", "long"}, {"Signatures", "long"}});
  for (const auto& [why, parts] : reasons) {
    std::set<std::string> what, signatures;
    for (const KeptPart* part : parts) {
      what.insert(part->what.empty() ? "all that it runs" : part->what);
      signatures.insert(part->signatures.begin(), part->signatures.end());
    }
    table.add_row({text_cell(why), folded_cell({what.begin(), what.end()}, "part"),
                   list_cell({signatures.begin(), signatures.end()})});
  }
  return HtmlSection{"kept", "What stays in TensorFlow, and why", table.print()};
}

std::optional<HtmlSection> variables_section(const RewriteReport& report) {
  if (report.dropped.empty()) return std::nullopt;
  constexpr size_t few = 8;
  std::string list;
  for (const std::string& name : report.dropped) list += fmt::format("<li>{}</li>\n", escape_html(name));
  return HtmlSection{
      "variables", "Variables that left",
      html_note("The program has their values, and nothing else reads them.") +
          fmt::format("<details{}><summary>{}</summary>\n<ul class=\"names\">\n{}</ul></details>\n",
                      report.dropped.size() <= few ? " open" : "",
                      count_of(report.dropped.size(), "variable"), list)};
}

/// What bytes of a model's files are for.
struct Cause {
  const char* name;
  const char* color;
  uint64_t ModelBytes::* bytes;
};

constexpr std::array causes{
    Cause{"graph", "t1", &ModelBytes::graph}, Cause{"variables", "t2", &ModelBytes::variables},
    Cause{"program", "t0", &ModelBytes::program}, Cause{"assets", "t3", &ModelBytes::assets},
    Cause{"other files", "t7", &ModelBytes::other}};

std::string print_stack(const char* what, const ModelBytes& bytes, uint64_t most) {
  std::string pieces;
  for (const auto& [name, color, of] : causes)
    if (bytes.*of > 0)
      pieces += fmt::format("<span class=\"bar {}\" style=\"width:{:.3f}%\" title=\"{}: {}\"></span>", color,
                            100.0 * static_cast<double>(bytes.*of) / static_cast<double>(most), name,
                            print_bytes(bytes.*of));
  return fmt::format("<span>{}</span><span class=\"track\">{}</span><span class=\"number\">{}</span>\n", what,
                     pieces, print_bytes(bytes.total()));
}

std::optional<HtmlSection> sizes_section(const RewriteReport& report) {
  HtmlTable table("sizes", {{"What for"}, {"Before", "number"}, {"Now", "number"}});
  for (const auto& [name, color, of] : causes)
    if (report.before.*of + report.after.*of > 0)
      table.add_row({{fmt::format("<span class=\"target {}\">{}</span>", color, name)},
                     bytes_cell(report.before.*of),
                     bytes_cell(report.after.*of)});
  const uint64_t most = std::max({report.before.total(), report.after.total(), uint64_t{1}});
  return HtmlSection{
      "sizes", "Size of the files",
      fmt::format("<div class=\"bars\">\n{}{}</div>\n", print_stack("before", report.before, most),
                  print_stack("now", report.after, most)) +
          table.print()};
}

std::optional<HtmlSection> setting_section(const RewriteReport& report) {
  return HtmlSection{"setting", "Measured on",
                     fmt::format("<p>{}; runs with {}.</p>\n", escape_html(report.processor),
                                 count_of(static_cast<size_t>(report.threads), "thread"))};
}

}  // namespace

std::string rewrite_html(const RewriteReport& report, const std::string& model, const std::string& output) {
  HtmlPage page{.subject = model, .what = "rewritten for TensorFlow", .style = rewrite_style};
  page.lead = fmt::format("<p class=\"path\">rewritten to {}</p>\n", escape_html(output)) +
              print_summary(report) + print_totals(report);
  for (const auto make :
       {signatures_section, parts_section, kept_section, variables_section, sizes_section, setting_section})
    if (std::optional<HtmlSection> section = make(report)) page.sections.push_back(std::move(*section));
  return html_page(page);
}

}  // namespace intarsia
