// The HTML page of an explanation. It is complete without its script, which only sorts, searches and
// enlarges.
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "report/explain_page.h"
#include "report/explain_svg.h"
#include "report/html_table.h"
#include "report/html_text.h"
#include "report/report.h"

namespace intarsia {
namespace {

HtmlCell text_cell(const std::string& text) { return {escape_html(text)}; }
HtmlCell count_cell(size_t count) { return {std::to_string(count), std::to_string(count)}; }

HtmlCell bytes_cell(std::optional<uint64_t> bytes) {
  return bytes ? HtmlCell{print_bytes(bytes), std::to_string(*bytes)} : HtmlCell{};
}

HtmlCell operations_cell(uint64_t count) {
  return count > 0 ? HtmlCell{print_flops(count), std::to_string(count)} : HtmlCell{};
}

HtmlCell time_cell(std::optional<int64_t> nanoseconds) {
  return nanoseconds ? HtmlCell{print_milliseconds(nanoseconds), std::to_string(*nanoseconds)} : HtmlCell{};
}

HtmlCell list_cell(const std::vector<std::string>& items) {
  if (items.size() <= 1) return items.empty() ? HtmlCell{} : text_cell(items[0]);
  std::string list;
  for (const std::string& item : items) list += fmt::format("<li>{}</li>", escape_html(item));
  return {fmt::format("<ul>{}</ul>", list)};
}

HtmlCell link_cell(const char* kind, size_t number) {
  return {fmt::format("<a href=\"#{0}-{1}\">{1}</a>", kind, number), std::to_string(number)};
}

std::string base_name(const std::string& path) {
  const std::filesystem::path parts(path);
  return parts.has_filename() ? parts.filename().string() : parts.parent_path().filename().string();
}

class Page {
 public:
  Page(const Explanation& explanation, const std::string& subject)
      : explanation_(explanation),
        subject_(subject),
        name_(base_name(subject)),
        colors_(number_targets(explanation)),
        stages_(stages_of_regions(explanation)) {}

  std::string print() {
    add_stages();
    add_regions();
    add_refused();
    add_plans();
    add_costs();
    add_nodes();
    add_copies();
    add_alternatives();
    add_notes();
    add_ports();
    return head() + totals() + "<nav aria-label=\"Sections\">\n" + links_ + "</nav>\n" + picture() +
           sections_ + fmt::format("</main>\n<script>\n{}</script>\n</body>\n</html>\n", page_script);
  }

 private:
  std::string head() const {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; "
        "script-src 'unsafe-inline'\">\n"
        "<title>{0}: what runs where</title>\n<style>\n{1}</style>\n</head>\n<body>\n<main>\n"
        "<h1>{0}</h1>\n<p class=\"path\">{2}</p>\n",
        escape_html(name_), page_style, escape_html(subject_));
  }

  HtmlCell target_cell(const std::string& target) const {
    return {fmt::format("<span class=\"target {}\">{}</span>", target_class(colors_, target),
                        escape_html(target))};
  }

  static void add_total(std::string& list, const char* what, const std::string& amount) {
    if (!amount.empty()) list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", what, amount);
  }

  std::string totals() const {
    std::string list;
    add_total(list, "nodes", std::to_string(explanation_.nodes.size()));
    add_total(list, "regions", std::to_string(explanation_.regions.size()));
    add_total(list, "copies between devices", std::to_string(explanation_.copies.size()));
    std::optional<uint64_t> copied = uint64_t{0};
    for (const ExplainedCopy& copy : explanation_.copies)
      copied = copied && copy.bytes ? std::optional(*copied + *copy.bytes) : std::nullopt;
    if (!explanation_.copies.empty()) add_total(list, "copied in a run", print_bytes(copied));
    add_total(list, "a run, measured", print_milliseconds(explanation_.measured));
    return fmt::format("<dl class=\"totals\">\n{}</dl>\n", list);
  }

  void add_section(const char* id, const char* title, const std::string& content) {
    links_ += fmt::format("<a href=\"#{}-title\">{}</a>\n", id, title);
    sections_ += fmt::format("<section>\n<h2 id=\"{}-title\">{}</h2>\n{}</section>\n", id, title, content);
  }

  static std::string note(const std::string& text) { return fmt::format("<p class=\"note\">{}</p>\n", text); }

  std::string legend() const {
    std::map<std::string, size_t> nodes;
    for (const ExplainedNode& node : explanation_.nodes) ++nodes[explanation_.regions[node.region].target];
    std::string items;
    for (const auto& [target, count] : nodes)
      items += fmt::format("<li>{} {} node{}</li>\n", target_cell(target).html, count, count == 1 ? "" : "s");
    return fmt::format("<ul class=\"legend\">\n{}</ul>\n", items);
  }

  std::string picture() const {
    return fmt::format(
        "<section>\n<h2 id=\"picture-title\">What runs where</h2>\n{}"
        "<div class=\"tools\" id=\"zoom\" hidden><button type=\"button\" data-zoom=\"out\" "
        "aria-label=\"Smaller\">−</button><button type=\"button\" data-zoom=\"in\" "
        "aria-label=\"Larger\">+</button><button type=\"button\" data-zoom=\"fit\">Fit width</button>"
        "<button type=\"button\" data-zoom=\"all\">Full size</button></div>\n"
        "<div class=\"picture\" tabindex=\"0\" role=\"region\" aria-labelledby=\"picture-title\">\n{}</div>\n"
        "{}</section>\n",
        legend(), draw_regions(explanation_),
        explanation_.copies.empty() ? "" : note("Dashed: values that are copied between devices."));
  }

  /// Returns a link to the stage, in the color it has in the picture.
  static std::string stage_link(size_t number) {
    return fmt::format("<a class=\"stage\" style=\"--stage:{0}\" href=\"#stage-{0}\">{0}</a>", number);
  }

  void add_stages() {
    if (explanation_.stages.empty()) return;
    HtmlTable table("stages", {{"Stage", "number"},
                               {"Executors"},
                               {"A frame, measured", "number"},
                               {"Predicted", "number"},
                               {"Regions"},
                               {"Reads", "long"},
                               {"Makes", "long"}});
    for (size_t s = 0; s < explanation_.stages.size(); ++s) {
      const ExplainedStage& stage = explanation_.stages[s];
      std::vector<std::string> regions;
      for (const size_t region : stage.regions) regions.push_back(link_cell("region", region).html);
      table.add_row({{stage_link(s), std::to_string(s)},
                     list_cell(stage.executors),
                     time_cell(stage.measured),
                     time_cell(stage.predicted),
                     {fmt::format("{}", fmt::join(regions, ", "))},
                     text_cell(fmt::format("{}", fmt::join(stage.inputs, ", "))),
                     text_cell(fmt::format("{}", fmt::join(stage.outputs, ", ")))},
                    fmt::format("stage-{}", s));
    }
    add_section("stages", "Stages of a pipeline",
                note("Each works on a frame of its own, on executors of its own; several executors are "
                     "replicas. The time of a frame is on one of them.") +
                    table.print());
  }

  void add_regions() {
    HtmlTable table("regions", {{"Region", "number"},
                                {"Stage", "number"},
                                {"Target"},
                                {"Nodes", "number"},
                                {"Time", "number"},
                                {"Predicted", "number"},
                                {"Arithmetic", "number"},
                                {"Weights", "number"},
                                {"Outputs", "long"},
                                {"Operators", "long"},
                                {"First node", "name"},
                                {"Last node", "name"}});
    for (size_t r = 0; r < explanation_.regions.size(); ++r) {
      const ExplainedRegion& region = explanation_.regions[r];
      const auto name = [&](size_t node) { return text_cell(explanation_.nodes[node].name); };
      const bool empty = region.nodes.empty();
      table.add_row(
          {count_cell(r),
           stages_[r] ? HtmlCell{stage_link(*stages_[r]), std::to_string(*stages_[r])} : HtmlCell{},
           target_cell(region.target), count_cell(region.nodes.size()), time_cell(region.measured),
           time_cell(region.predicted), operations_cell(region.flops.value_or(0)),
           region.constants_bytes > 0 ? bytes_cell(region.constants_bytes) : HtmlCell{},
           text_cell(types_of(region.outputs)), text_cell(sum_up_ops(explanation_, r, 8)),
           empty ? HtmlCell{} : name(region.nodes.front()), empty ? HtmlCell{} : name(region.nodes.back())},
          fmt::format("region-{}", r));
    }
    add_section("regions", "Regions", table.print());
  }

  /// Returns the sum of the times of the segments that contain refused nodes of the operator, each counted
  /// once.
  std::optional<int64_t> time_of_op(const std::string& op) const {
    std::optional<int64_t> sum;
    std::optional<size_t> last;
    for (const ExplainedNode& node : explanation_.nodes) {
      if (node.op != op || node.refusals.empty() || !node.segment || node.segment == last) continue;
      last = node.segment;
      const auto time = segment_time(explanation_, *node.segment);
      if (time) sum = sum.value_or(0) + *time;
    }
    return sum;
  }

  void add_refused() {
    struct Ranked {
      RefusedOp op;
      std::optional<int64_t> time;
    };
    std::vector<Ranked> ranked;
    for (RefusedOp& op : rank_refused_ops(explanation_)) {
      const std::optional<int64_t> time = time_of_op(op.op);
      ranked.push_back({std::move(op), time});
    }
    if (ranked.empty()) return;
    std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
      if (a.time != b.time) return a.time.value_or(-1) > b.time.value_or(-1);
      return a.op.elements.value_or(0) > b.op.elements.value_or(0);
    });
    HtmlTable table("refused", {{"Operator", "name"},
                                {"Nodes", "number"},
                                {"Time of their segments", "number"},
                                {"Elements made", "number"},
                                {"Runs on"},
                                {"Why others refused", "long"}});
    for (const auto& [op, time] : ranked) {
      table.add_row({text_cell(op.op), count_cell(op.count), time_cell(time),
                     op.elements ? count_cell(*op.elements) : HtmlCell{}, list_cell(op.targets),
                     list_cell(op.refusals)});
    }
    add_section("refused", "Operators that a preferred backend refused",
                note("Those that cost the most come first: by the time of the segments they are in where it "
                     "is known, else by the elements that they make.") +
                    table.print());
  }

  /// Returns the change of a run's time as a cell; "−0.4 ms" means a run would be shorter.
  static HtmlCell move_cell(std::optional<int64_t> nanoseconds) {
    if (!nanoseconds) return {};
    const bool shorter = *nanoseconds < 0;
    return {
        fmt::format("{}{}", shorter ? "−" : "+", print_milliseconds(shorter ? -*nanoseconds : *nanoseconds)),
        std::to_string(*nanoseconds)};
  }

  void add_plans() {
    if (explanation_.plans.empty()) return;
    HtmlTable table("plans",
                    {{"Plan"}, {"A run, measured", "number"}, {"Predicted from its parts", "number"}});
    for (const ExplainedPlan& plan : explanation_.plans)
      table.add_row({text_cell(plan.name), time_cell(plan.nanoseconds), time_cell(plan.predicted)});
    add_section(
        "plans", "Plans that were compared",
        note("When the model was compiled on this machine. This page shows the plan as placed; a compile "
             "ships the fastest.") +
            table.print());
  }

  void add_costs() {
    if (explanation_.segments.empty())
      return add_section("costs", "What parts take elsewhere",
                         note("Not known: " + escape_html(explanation_.no_times) + "."));
    std::vector<HtmlColumn> columns{
        {"Segment", "number"}, {"Nodes", "number"}, {"From", "name"}, {"To", "name"}, {"Runs on"}};
    for (const std::string& target : explanation_.targets)
      columns.push_back({"On " + escape_html(target), "number"});
    for (const std::string& target : explanation_.targets)
      columns.push_back({"A run, moved to " + escape_html(target), "number"});
    HtmlTable table("costs", std::move(columns));
    for (size_t s = 0; s < explanation_.segments.size(); ++s) {
      const ExplainedSegment& part = explanation_.segments[s];
      const auto node = [&](size_t i) -> const ExplainedNode& { return explanation_.nodes[i]; };
      std::vector<HtmlCell> cells{count_cell(s), count_cell(part.nodes.size()),
                                  text_cell(node(part.nodes.front()).name),
                                  text_cell(node(part.nodes.back()).name),
                                  target_cell(explanation_.regions[node(part.nodes[0]).region].target)};
      for (std::optional<int64_t> time : part.times) cells.push_back(time_cell(time));
      for (std::optional<int64_t> move : part.moves) cells.push_back(move_cell(move));
      table.add_row(std::move(cells), fmt::format("segment-{}", s));
    }
    add_section("costs", "What parts take elsewhere",
                note("A segment is what was timed as one: nodes that follow each other, which a backend may "
                     "fuse. Times were measured in plans that ran; 0: the backend did the work together with "
                     "that of another segment; blank: no plan ran the segment there. Each is the least that "
                     "was measured, so that their sum can be less than a run. How much longer or shorter "
                     "a run would be if only this segment moved is computed from these times, and those of "
                     "copies and of calls of regions.") +
                    table.print());
  }

  static std::string types_of(const std::vector<ExplainedPort>& ports) {
    std::vector<std::string> types;
    for (const ExplainedPort& port : ports) types.push_back(print_type(port));
    return fmt::format("{}", fmt::join(types, ", "));
  }

  void add_nodes() {
    std::vector<HtmlColumn> columns{
        {"#", "number"}, {"Name", "name"},     {"Operator"},           {"Region", "number"},
        {"Target"},      {"Why here", "long"}, {"Refused by", "long"}, {"Others that could"},
        {"Output"},      {"Bytes", "number"},  {"Segment", "number"}};
    for (const std::string& target : explanation_.targets)
      columns.push_back({"Segment on " + escape_html(target), "number"});
    HtmlTable table("nodes", std::move(columns));
    for (size_t i = 0; i < explanation_.nodes.size(); ++i) {
      const ExplainedNode& node = explanation_.nodes[i];
      const std::string& target = explanation_.regions[node.region].target;
      std::vector<std::string> others = node.takers;
      std::erase(others, target);
      std::vector<HtmlCell> cells{count_cell(i),
                                  text_cell(node.name),
                                  text_cell(node.op),
                                  link_cell("region", node.region),
                                  target_cell(target),
                                  text_cell(node.reason),
                                  list_cell(node.refusals),
                                  text_cell(fmt::format("{}", fmt::join(others, ", "))),
                                  text_cell(types_of(node.outputs)),
                                  node.outputs.empty() ? HtmlCell{} : bytes_cell(node.bytes),
                                  node.segment ? link_cell("segment", *node.segment) : HtmlCell{}};
      for (size_t t = 0; t < explanation_.targets.size(); ++t)
        cells.push_back(node.segment ? time_cell(explanation_.segments[*node.segment].times[t]) : HtmlCell{});
      table.add_row(std::move(cells), fmt::format("node-{}", i));
    }
    add_section("nodes", "Nodes", table.print());
  }

  void add_copies() {
    if (explanation_.copies.empty()) return;
    HtmlTable table("copies", {{"Value", "name"}, {"From"}, {"To"}, {"Bytes", "number"}});
    for (const ExplainedCopy& copy : explanation_.copies)
      table.add_row(
          {text_cell(copy.value), text_cell(copy.from), text_cell(copy.to), bytes_cell(copy.bytes)});
    add_section("copies", "Copies between devices", table.print());
  }

  void add_alternatives() {
    if (explanation_.alternatives.empty()) return;
    HtmlTable table("alternatives", {{"Runs on", "long"}, {"A run, measured", "number"}});
    for (const ExplainedAlternative& other : explanation_.alternatives)
      table.add_row({text_cell(other.targets), time_cell(other.measured)});
    add_section("alternatives", "Where a library or device is missing",
                note("The first of these that can be loaded runs instead.") + table.print());
  }

  void add_notes() {
    if (explanation_.notes.empty()) return;
    HtmlTable table("notes", {{"What was left out, and why", "long"}});
    for (const std::string& text : explanation_.notes) table.add_row({text_cell(text)});
    add_section("notes", "Notes", table.print());
  }

  void add_ports() {
    HtmlTable table("ports", {{"Name", "name"}, {"What"}, {"Type"}});
    for (const ExplainedPort& port : explanation_.inputs)
      table.add_row({text_cell(port.name), {"input"}, text_cell(print_type(port))});
    for (const ExplainedPort& port : explanation_.outputs)
      table.add_row({text_cell(port.name), {"output"}, text_cell(print_type(port))});
    for (const SymbolBinding& symbol : explanation_.symbols) {
      table.add_row({text_cell(symbol.symbol),
                     {symbol.by_default ? "size, by default" : "size"},
                     {fmt::format("{}", symbol.value)}});
    }
    for (const OpenSize& size : explanation_.open_sizes)
      table.add_row({text_cell(size.name), {"open size"}, text_cell(print_range(size))});
    for (const ExplainedSlot& slot : explanation_.slots)
      table.add_row({text_cell(slot.name), {"device"}, text_cell(slot.device + print_memory(slot))});
    add_section("ports", "Inputs, outputs and devices", table.print());
  }

  const Explanation& explanation_;
  const std::string subject_, name_;
  const std::map<std::string, size_t> colors_;
  const std::vector<std::optional<size_t>> stages_;  // stage of each region
  std::string links_, sections_;
};

}  // namespace

std::string explain_html(const Explanation& explanation, const std::string& subject) {
  return Page(explanation, subject).print();
}

}  // namespace intarsia
