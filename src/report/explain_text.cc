#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/byte_size.h"
#include "program/verify_machine.h"
#include "report/report.h"

namespace intarsia {
namespace {

constexpr size_t columns = 80;

std::string plural(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// Returns the end of the word at `at`; a number and its unit count as one word.
size_t end_of_word(std::string_view line, size_t at) {
  const size_t end = std::min(line.find(' ', at), line.size());
  const bool is_number = line.substr(at, end - at).find_first_not_of("0123456789.") == std::string_view::npos;
  return is_number && end < line.size() ? std::min(line.find(' ', end + 1), line.size()) : end;
}

/// Breaks a line between words into lines that fit `columns`; all but the first are indented. Words too long
/// for a line stay whole.
std::string wrap(std::string_view line, size_t indent) {
  std::string text;
  size_t width = line.find_first_not_of(' ');
  if (width == std::string_view::npos) return "\n";
  text.assign(width, ' ');
  bool is_first = true;
  for (size_t at = width; at < line.size();) {
    const size_t end = end_of_word(line, at);
    const std::string_view word = line.substr(at, end - at);
    if (!is_first && width + 1 + word.size() > columns) {
      text += "\n" + std::string(indent, ' ');
      width = indent;
    } else if (!is_first) {
      text += ' ';
      ++width;
    }
    text += word;
    width += word.size();
    is_first = false;
    at = end + 1;
  }
  return text + "\n";
}

void print_ports(const char* title, const std::vector<ExplainedPort>& ports, std::string& text) {
  for (const ExplainedPort& port : ports)
    text += wrap(fmt::format("{} {}: {}", title, port.name, print_type(port)), 9);
}

/// Sums up why nodes are in a region: "first choice"; several reasons as "226 first choice, 5 pinned by the
/// user", without the times in them.
std::string sum_up_reasons(const Explanation& explanation, const ExplainedRegion& region) {
  std::set<std::string> reasons;
  std::map<std::string, size_t> counts;
  for (size_t node : region.nodes) {
    const std::string& reason = explanation.nodes[node].reason;
    reasons.insert(reason);
    ++counts[reason.substr(0, reason.find(':'))];
  }
  if (reasons.size() == 1) return *reasons.begin();
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(fmt::format("{} {}", count, reason));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_region(const Explanation& explanation, size_t number, std::string& text) {
  const ExplainedRegion& region = explanation.regions[number];
  std::string line = fmt::format("  {} {}: {}", number, region.target, plural(region.nodes.size(), "node"));
  if (region.constants_bytes > 0) line += fmt::format(", {} of weights", print_bytes(region.constants_bytes));
  if (region.flops.value_or(0) > 0) line += fmt::format(", {}", print_flops(*region.flops));
  if (const auto time = region.time()) line += ", " + print_milliseconds(time);
  text += wrap(line, 6);
  constexpr size_t most_ops = 12, most_outputs = 4;
  if (!region.nodes.empty()) text += wrap("      " + sum_up_ops(explanation, number, most_ops), 6);
  if (const std::string why = sum_up_reasons(explanation, region); !why.empty())
    text += wrap("      why: " + why, 11);
  std::vector<std::string> outputs;
  for (const ExplainedPort& port : region.outputs) {
    if (outputs.size() < most_outputs) outputs.push_back(fmt::format("{}: {}", port.name, print_type(port)));
  }
  if (outputs.size() < region.outputs.size())
    outputs.push_back(fmt::format("{} more", region.outputs.size() - outputs.size()));
  if (!outputs.empty()) text += wrap(fmt::format("      gives {}", fmt::join(outputs, ", ")), 8);
}

void print_refused(const Explanation& explanation, std::string& text) {
  const std::vector<RefusedOp> ops = rank_refused_ops(explanation);
  if (ops.empty()) return;
  text += "\nOperators that a preferred backend refused, the most nodes first:\n";
  for (const RefusedOp& op : ops) {
    text += wrap(fmt::format("  {}: {}{}, run by {}; {}", op.op, plural(op.count, "node"),
                             op.elements ? fmt::format(", {} elements", *op.elements) : "",
                             fmt::join(op.targets, ", "), fmt::join(op.refusals, "; ")),
                 6);
  }
}

void print_head(const Explanation& explanation, const std::string& subject, std::string& text) {
  text += wrap(subject, 0);
  text += fmt::format(
      "{} in {}, {} between devices, for {}\n", plural(explanation.nodes.size(), "node"),
      plural(explanation.regions.size(), "region"),
      explanation.copies.size() == 1 ? "1 copy" : fmt::format("{} copies", explanation.copies.size()),
      plural(static_cast<size_t>(explanation.threads), "thread"));
  if (!explanation.arch.empty() && explanation.arch != machine_arch())
    text += fmt::format("code   for {}, {}\n", explanation.arch, explanation.cpu);
  print_ports("input ", explanation.inputs, text);
  print_ports("output", explanation.outputs, text);
  for (const SymbolBinding& symbol : explanation.symbols) {
    text +=
        wrap(fmt::format("size   {} = {}{}", symbol.symbol, symbol.value,
                         !symbol.pinned_by.empty() ? fmt::format(" (fixed by node '{}')", symbol.pinned_by)
                         : symbol.by_default       ? " (by default)"
                                                   : ""),
             9);
  }
  for (const OpenSize& size : explanation.open_sizes)
    text += wrap(fmt::format("size   {} is open: {}", size.name, print_range(size)), 9);
  for (const ExplainedSlot& slot : explanation.slots)
    text += wrap(fmt::format("slot   {} = {}{}{}", slot.name, slot.device,
                             slot.cores.empty() ? "" : fmt::format(" (threads pinned: {})", slot.cores),
                             print_memory(slot)),
                 9);
  if (explanation.measured)
    text += fmt::format("time   {} a run, measured by a compile\n", print_milliseconds(explanation.measured));
  if (explanation.size) text += wrap("size   " + print_size(*explanation.size), 7);
  for (const ProgramVariant& variant : explanation.variants)
    text += wrap("for    " + print_variant(variant), 9);
}

/// Prints a note where a compile may ship another plan than the one shown.
void print_what_ships(const Explanation& explanation, std::string& text) {
  if (!explanation.may_ship_another || explanation.regions.empty()) return;
  if (explanation.plans.empty()) {
    text += wrap(
        "note   the nodes as placed; their times are not measured: a compile measures, and may ship "
        "another plan",
        7);
    return;
  }
  const ExplainedPlan& fastest = explanation.plans[0];
  text += wrap(fmt::format("note   the nodes as placed; by the times of a compile this would ship: {} ({})",
                           fastest.name, print_milliseconds(fastest.nanoseconds)),
               7);
}

/// Prints the segments that take longest where they are, with their times elsewhere.
void print_segments(const Explanation& explanation, std::string& text) {
  constexpr size_t most = 8;
  struct Slow {
    int64_t time;
    size_t number;
  };
  std::vector<Slow> slowest;
  for (size_t s = 0; s < explanation.segments.size(); ++s) {
    if (const auto time = segment_time(explanation, s)) slowest.push_back({*time, s});
  }
  std::ranges::stable_sort(slowest, std::greater(), &Slow::time);
  if (slowest.size() > most) slowest.resize(most);
  if (!slowest.empty()) text += "\nSlowest segments of nodes, and what they take elsewhere:\n";
  for (const auto& [time, number] : slowest) {
    const ExplainedSegment& segment = explanation.segments[number];
    std::vector<std::string> times;
    for (size_t t = 0; t < segment.times.size(); ++t) {
      if (segment.times[t])
        times.push_back(
            fmt::format("{} in {}", print_milliseconds(segment.times[t]), explanation.targets[t]));
    }
    text += wrap(fmt::format("  {} from {}: {}", plural(segment.nodes.size(), "node"),
                             explanation.nodes[segment.nodes[0]].name, fmt::join(times, ", ")),
                 6);
  }
}

void print_stages(const Explanation& explanation, std::string& text) {
  if (!explanation.stages.empty()) text += "\nStages of a pipeline:\n";
  for (const ExplainedStage& stage : explanation.stages) {
    const std::optional<int64_t> time = stage.measured ? stage.measured : stage.predicted;
    text +=
        wrap(fmt::format("  {}: {} -> {}, {} region{}{}", fmt::join(stage.executors, ", "),
                         fmt::join(stage.inputs, ", "), fmt::join(stage.outputs, ", "), stage.regions.size(),
                         stage.regions.size() == 1 ? "" : "s", time ? ", " + print_milliseconds(time) : ""),
             6);
  }
}

}  // namespace

std::string print_bytes(std::optional<uint64_t> bytes) {
  if (!bytes) return "?";
  return print_byte_size(*bytes);
}

std::string print_memory(const ExplainedSlot& slot) {
  std::string text;
  if (slot.memory)
    text = fmt::format(", {} of constants and {} of working memory", print_bytes(slot.memory->constants),
                       print_bytes(slot.memory->arena));
  if (slot.memory_limit) text += fmt::format(" (at most {})", print_bytes(slot.memory_limit));
  return text;
}

std::string print_flops(uint64_t count) {
  double amount = static_cast<double>(count);
  const char* units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
  size_t unit = 0;
  for (; amount >= 1000 && unit + 1 < std::size(units); ++unit) amount /= 1000;
  return fmt::format("{:.3g} {}", amount, units[unit]);
}

std::string print_milliseconds(std::optional<int64_t> nanoseconds) {
  if (!nanoseconds) return "";
  if (*nanoseconds <= 1) return "0 ms";  // the smallest time that the planner knows
  return fmt::format("{:.3g} ms", static_cast<double>(*nanoseconds) / 1e6);
}

std::string print_range(const OpenSize& size) {
  std::string text = size.range.max == SizeRange::limit
                         ? fmt::format("{} or more", size.range.min)
                         : fmt::format("{} to {}", size.range.min, size.range.max);
  if (size.range == SizeRange{}) text = "any size";
  if (!size.tuned.empty()) text += fmt::format(", fastest at {}", fmt::join(size.tuned, ", "));
  return text;
}

std::string print_sizes(const ExplainedSpecialization& specialization) {
  std::vector<std::string> measured;
  for (const auto& [name, size] : specialization.sizes)
    measured.push_back(fmt::format("{} = {}", name, size));
  return fmt::format("{} {}, measured with {}", specialization.size.name, print_range(specialization.size),
                     fmt::join(measured, ", "));
}

std::string print_type(const ExplainedPort& port) {
  if (!port.shape) return port.dtype + "[*]";
  return port.dtype + print_shape(*port.shape);
}

std::string sum_up_ops(const Explanation& explanation, size_t region, size_t most) {
  std::vector<std::pair<size_t, std::string>> counts;
  for (size_t node : explanation.regions[region].nodes) {
    const std::string& op = explanation.nodes[node].op;
    auto at = std::ranges::find(counts, op, &std::pair<size_t, std::string>::second);
    if (at == counts.end()) at = counts.insert(counts.end(), {0, op});
    ++at->first;
  }
  std::ranges::stable_sort(counts, std::greater(), &std::pair<size_t, std::string>::first);
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(most, counts.size()); ++i) {
    parts.push_back(fmt::format("{} {}", counts[i].first, counts[i].second));
  }
  size_t rest = 0;
  for (size_t i = most; i < counts.size(); ++i) rest += counts[i].first;
  if (rest > 0) parts.push_back(fmt::format("{} more", rest));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string explain_text(const Explanation& explanation, const std::string& subject) {
  std::string text;
  print_head(explanation, subject, text);
  print_what_ships(explanation, text);
  if (!explanation.regions.empty()) text += "\nRegions:\n";
  for (size_t r = 0; r < explanation.regions.size(); ++r) print_region(explanation, r, text);
  if (!explanation.plans.empty()) text += "\nPlans that a compile compared:\n";
  for (const ExplainedPlan& plan : explanation.plans)
    text += wrap(fmt::format("  {}: {}", plan.name, print_milliseconds(plan.nanoseconds)), 6);
  print_segments(explanation, text);
  if (!explanation.alternatives.empty()) text += "\nWhere a library or device of these is missing:\n";
  for (const ExplainedAlternative& other : explanation.alternatives) {
    text += wrap(
        fmt::format("  {}{}", other.targets, other.measured ? ", " + print_milliseconds(other.measured) : ""),
        6);
  }
  if (!explanation.specializations.empty()) text += "\nAt other sizes:\n";
  for (const ExplainedSpecialization& one : explanation.specializations)
    text +=
        wrap(fmt::format("  {}: {}, {}", print_sizes(one), one.targets, print_milliseconds(one.measured)), 6);
  print_stages(explanation, text);
  if (!explanation.notes.empty()) text += "\nNotes:\n";
  for (const std::string& note : explanation.notes) text += wrap("  " + note, 6);
  if (!explanation.copies.empty()) text += "\nCopies:\n";
  for (const ExplainedCopy& copy : explanation.copies) {
    text +=
        wrap(fmt::format("  {}: {} -> {}, {}", copy.value, copy.from, copy.to, print_bytes(copy.bytes)), 6);
  }
  print_refused(explanation, text);
  return text;
}

std::string explain_nodes(const Explanation& explanation) {
  std::string text = "\nNodes:\n";
  for (const ExplainedNode& node : explanation.nodes) {
    text += fmt::format("  {} ({}): region {}, {}, {}{}\n", node.name.empty() ? "-" : node.name, node.op,
                        node.region, explanation.regions[node.region].target, node.reason,
                        node.refusals.empty() ? "" : fmt::format(" [{}]", fmt::join(node.refusals, "; ")));
  }
  return text;
}

}  // namespace intarsia
