#include "report/html_sections.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "report/explain_svg.h"
#include "report/html_cells.h"
#include "report/html_text.h"
#include "report/report.h"

namespace intarsia {
namespace {

std::string types_of(const std::vector<ExplainedPort>& ports) {
  std::vector<std::string> types;
  for (const ExplainedPort& port : ports) types.push_back(print_type(port));
  return fmt::format("{}", fmt::join(types, ", "));
}

std::optional<HtmlSection> stages_section(const Explanation& explanation) {
  if (explanation.stages.empty()) return std::nullopt;
  HtmlTable table("stages", {{"Stage", "number"},
                             {"Executors"},
                             {"A frame, measured", "number"},
                             {"Predicted", "number"},
                             {"Regions"},
                             {"Reads", "long"},
                             {"Makes", "long"}});
  for (size_t s = 0; s < explanation.stages.size(); ++s) {
    const ExplainedStage& stage = explanation.stages[s];
    std::vector<std::string> regions;
    for (const size_t region : stage.regions) regions.push_back(link_cell("region", region).html);
    table.add_row({stage_cell(s),
                   list_cell(stage.executors),
                   time_cell(stage.measured),
                   time_cell(stage.predicted),
                   {fmt::format("{}", fmt::join(regions, ", "))},
                   text_cell(fmt::format("{}", fmt::join(stage.inputs, ", "))),
                   text_cell(fmt::format("{}", fmt::join(stage.outputs, ", ")))},
                  fmt::format("stage-{}", s));
  }
  return HtmlSection{
      "stages", "Stages of a pipeline",
      html_note("Each works on a frame of its own, on executors of its own; several executors are "
                "replicas. The time of a frame is on one of them.") +
          table.print()};
}

std::optional<HtmlSection> regions_section(const Explanation& explanation) {
  const std::map<std::string, size_t> colors = number_targets(explanation);
  const std::vector<std::optional<size_t>> stages = stages_of_regions(explanation);
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
  for (size_t r = 0; r < explanation.regions.size(); ++r) {
    const ExplainedRegion& region = explanation.regions[r];
    const auto name = [&](size_t node) { return text_cell(explanation.nodes[node].name); };
    const bool empty = region.nodes.empty();
    table.add_row(
        {count_cell(r), stages[r] ? stage_cell(*stages[r]) : HtmlCell{}, target_cell(colors, region.target),
         count_cell(region.nodes.size()), time_cell(region.measured), time_cell(region.predicted),
         operations_cell(region.flops.value_or(0)),
         region.constants_bytes > 0 ? bytes_cell(region.constants_bytes) : HtmlCell{},
         text_cell(types_of(region.outputs)), text_cell(sum_up_ops(explanation, r, 8)),
         empty ? HtmlCell{} : name(region.nodes.front()), empty ? HtmlCell{} : name(region.nodes.back())},
        fmt::format("region-{}", r));
  }
  return HtmlSection{"regions", "Regions", table.print()};
}

/// Returns the sum of the times of the segments that contain refused nodes of the operator, each counted
/// once.
std::optional<int64_t> time_of_op(const Explanation& explanation, const std::string& op) {
  std::optional<int64_t> sum;
  std::optional<size_t> last;
  for (const ExplainedNode& node : explanation.nodes) {
    if (node.op != op || node.refusals.empty() || !node.segment || node.segment == last) continue;
    last = node.segment;
    const auto time = segment_time(explanation, *node.segment);
    if (time) sum = sum.value_or(0) + *time;
  }
  return sum;
}

std::optional<HtmlSection> refused_section(const Explanation& explanation) {
  struct Ranked {
    RefusedOp op;
    std::optional<int64_t> time;
  };
  std::vector<Ranked> ranked;
  for (RefusedOp& op : rank_refused_ops(explanation)) {
    const std::optional<int64_t> time = time_of_op(explanation, op.op);
    ranked.push_back({std::move(op), time});
  }
  if (ranked.empty()) return std::nullopt;
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
  return HtmlSection{
      "refused", "Operators that a preferred backend refused",
      html_note("Those that cost the most come first: by the time of the segments they are in where it "
                "is known, else by the elements that they make.") +
          table.print()};
}

std::optional<HtmlSection> plans_section(const Explanation& explanation) {
  if (explanation.plans.empty()) return std::nullopt;
  HtmlTable table("plans", {{"Plan"}, {"A run, measured", "number"}, {"Predicted from its parts", "number"}});
  for (const ExplainedPlan& plan : explanation.plans)
    table.add_row({text_cell(plan.name), time_cell(plan.nanoseconds), time_cell(plan.predicted)});
  return HtmlSection{
      "plans", "Plans that were compared",
      html_note("When the model was compiled on this machine. This page shows the plan as placed; a compile "
                "ships the fastest.") +
          table.print()};
}

std::optional<HtmlSection> costs_section(const Explanation& explanation) {
  if (explanation.segments.empty())
    return HtmlSection{"costs", "What parts take elsewhere",
                       html_note("Not known: " + escape_html(explanation.no_times) + ".")};
  const std::map<std::string, size_t> colors = number_targets(explanation);
  std::vector<HtmlColumn> columns{
      {"Segment", "number"}, {"Nodes", "number"}, {"From", "name"}, {"To", "name"}, {"Runs on"}};
  for (const std::string& target : explanation.targets)
    columns.push_back({"On " + escape_html(target), "number"});
  for (const std::string& target : explanation.targets)
    columns.push_back({"A run, moved to " + escape_html(target), "number"});
  HtmlTable table("costs", std::move(columns));
  for (size_t s = 0; s < explanation.segments.size(); ++s) {
    const ExplainedSegment& part = explanation.segments[s];
    const auto node = [&](size_t i) -> const ExplainedNode& { return explanation.nodes[i]; };
    std::vector<HtmlCell> cells{count_cell(s), count_cell(part.nodes.size()),
                                text_cell(node(part.nodes.front()).name),
                                text_cell(node(part.nodes.back()).name),
                                target_cell(colors, explanation.regions[node(part.nodes[0]).region].target)};
    for (std::optional<int64_t> time : part.times) cells.push_back(time_cell(time));
    for (std::optional<int64_t> move : part.moves) cells.push_back(move_cell(move));
    table.add_row(std::move(cells), fmt::format("segment-{}", s));
  }
  return HtmlSection{
      "costs", "What parts take elsewhere",
      html_note("A segment is what was timed as one: nodes that follow each other, which a backend may "
                "fuse. Times were measured in plans that ran; 0: the backend did the work together with "
                "that of another segment; blank: no plan ran the segment there. Each is the least that "
                "was measured, so that their sum can be less than a run. How much longer or shorter "
                "a run would be if only this segment moved is computed from these times, and those of "
                "copies and of calls of regions.") +
          table.print()};
}

std::optional<HtmlSection> nodes_section(const Explanation& explanation) {
  const std::map<std::string, size_t> colors = number_targets(explanation);
  std::vector<HtmlColumn> columns{
      {"#", "number"}, {"Name", "name"},     {"Operator"},           {"Region", "number"},
      {"Target"},      {"Why here", "long"}, {"Refused by", "long"}, {"Others that could"},
      {"Output"},      {"Bytes", "number"},  {"Segment", "number"}};
  for (const std::string& target : explanation.targets)
    columns.push_back({"Segment on " + escape_html(target), "number"});
  HtmlTable table("nodes", std::move(columns));
  for (size_t i = 0; i < explanation.nodes.size(); ++i) {
    const ExplainedNode& node = explanation.nodes[i];
    const std::string& target = explanation.regions[node.region].target;
    std::vector<std::string> others = node.takers;
    std::erase(others, target);
    std::vector<HtmlCell> cells{count_cell(i),
                                text_cell(node.name),
                                text_cell(node.op),
                                link_cell("region", node.region),
                                target_cell(colors, target),
                                text_cell(node.reason),
                                list_cell(node.refusals),
                                text_cell(fmt::format("{}", fmt::join(others, ", "))),
                                text_cell(types_of(node.outputs)),
                                node.outputs.empty() ? HtmlCell{} : bytes_cell(node.bytes),
                                node.segment ? link_cell("segment", *node.segment) : HtmlCell{}};
    for (size_t t = 0; t < explanation.targets.size(); ++t)
      cells.push_back(node.segment ? time_cell(explanation.segments[*node.segment].times[t]) : HtmlCell{});
    table.add_row(std::move(cells), fmt::format("node-{}", i));
  }
  return HtmlSection{"nodes", "Nodes", table.print()};
}

std::optional<HtmlSection> copies_section(const Explanation& explanation) {
  if (explanation.copies.empty()) return std::nullopt;
  HtmlTable table("copies", {{"Value", "name"}, {"From"}, {"To"}, {"Bytes", "number"}});
  for (const ExplainedCopy& copy : explanation.copies)
    table.add_row({text_cell(copy.value), text_cell(copy.from), text_cell(copy.to), bytes_cell(copy.bytes)});
  return HtmlSection{"copies", "Copies between devices", table.print()};
}

std::optional<HtmlSection> alternatives_section(const Explanation& explanation) {
  if (explanation.alternatives.empty()) return std::nullopt;
  HtmlTable table("alternatives", {{"Runs on", "long"}, {"A run, measured", "number"}});
  for (const ExplainedAlternative& other : explanation.alternatives)
    table.add_row({text_cell(other.targets), time_cell(other.measured)});
  return HtmlSection{"alternatives", "Where a library or device is missing",
                     html_note("The first of these that can be loaded runs instead.") + table.print()};
}

std::optional<HtmlSection> specializations_section(const Explanation& explanation) {
  if (explanation.specializations.empty()) return std::nullopt;
  HtmlTable table("specializations", {{"Sizes", "long"}, {"Runs on", "long"}, {"A run, measured", "number"}});
  for (const ExplainedSpecialization& one : explanation.specializations)
    table.add_row({text_cell(print_sizes(one)), text_cell(one.targets), time_cell(one.measured)});
  return HtmlSection{"specializations", "At other sizes",
                     html_note("A run takes the first of these that its sizes are for.") + table.print()};
}

std::optional<HtmlSection> notes_section(const Explanation& explanation) {
  if (explanation.notes.empty()) return std::nullopt;
  HtmlTable table("notes", {{"What was left out, and why", "long"}});
  for (const std::string& text : explanation.notes) table.add_row({text_cell(text)});
  return HtmlSection{"notes", "Notes", table.print()};
}

std::optional<HtmlSection> ports_section(const Explanation& explanation) {
  HtmlTable table("ports", {{"Name", "name"}, {"What"}, {"Type"}});
  for (const ExplainedPort& port : explanation.inputs)
    table.add_row({text_cell(port.name), {"input"}, text_cell(print_type(port))});
  for (const ExplainedPort& port : explanation.outputs)
    table.add_row({text_cell(port.name), {"output"}, text_cell(print_type(port))});
  for (const SymbolBinding& symbol : explanation.symbols) {
    table.add_row({text_cell(symbol.symbol),
                   {symbol.by_default ? "size, by default" : "size"},
                   {fmt::format("{}", symbol.value)}});
  }
  for (const OpenSize& size : explanation.open_sizes)
    table.add_row({text_cell(size.name), {"open size"}, text_cell(print_range(size))});
  for (const ExplainedSlot& slot : explanation.slots)
    table.add_row({text_cell(slot.name), {"device"}, text_cell(slot.device + print_memory(slot))});
  return HtmlSection{"ports", "Inputs, outputs and devices", table.print()};
}

}  // namespace

std::vector<HtmlSection> html_sections(const Explanation& explanation) {
  std::vector<HtmlSection> sections;
  for (const auto make :
       {stages_section, regions_section, refused_section, plans_section, costs_section, nodes_section,
        copies_section, alternatives_section, specializations_section, notes_section, ports_section}) {
    if (std::optional<HtmlSection> section = make(explanation)) sections.push_back(std::move(*section));
  }
  return sections;
}

}  // namespace intarsia
