#include <fmt/ranges.h>

#include <algorithm>

#include "compile/report.h"

namespace intarsia {
namespace {

std::string plural(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void print_ports(const char* title, const std::vector<ExplainedPort>& ports, std::string& text) {
  for (const ExplainedPort& port : ports)
    text += fmt::format("{} {}: {}\n", title, port.name, print_type(port));
}

void print_refused(const Explanation& explanation, std::string& text) {
  const std::vector<RefusedOp> ops = rank_refused_ops(explanation);
  if (ops.empty()) return;
  text += "\nOperators that a preferred backend refused, the most nodes first:\n";
  for (const RefusedOp& op : ops) {
    text += fmt::format("  {}: {}{}, run by {}; {}\n", op.op, plural(op.count, "node"),
                        op.elements ? fmt::format(", {} elements", *op.elements) : "",
                        fmt::join(op.targets, ", "), fmt::join(op.refusals, "; "));
  }
}

}  // namespace

std::string print_bytes(std::optional<uint64_t> bytes) {
  if (!bytes) return "?";
  if (*bytes < 1024) return fmt::format("{} bytes", *bytes);
  double amount = static_cast<double>(*bytes) / 1024;
  const char* units[] = {"KB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(units); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string print_milliseconds(std::optional<int64_t> nanoseconds) {
  return nanoseconds ? fmt::format("{:.3g} ms", static_cast<double>(*nanoseconds) / 1e6) : "";
}

std::string print_type(const ExplainedPort& port) {
  if (!port.shape) return port.dtype + "[*]";
  std::vector<std::string> sizes;
  for (int64_t size : *port.shape) sizes.push_back(size < 0 ? "?" : std::to_string(size));
  return fmt::format("{}[{}]", port.dtype, fmt::join(sizes, ","));
}

std::string sum_up_ops(const Explanation& explanation, size_t region) {
  std::vector<std::pair<size_t, std::string>> counts;
  for (size_t node : explanation.regions[region].nodes) {
    const std::string& op = explanation.nodes[node].op;
    auto at = std::ranges::find(counts, op, &std::pair<size_t, std::string>::second);
    if (at == counts.end()) at = counts.insert(counts.end(), {0, op});
    ++at->first;
  }
  std::ranges::stable_sort(counts, std::greater(), &std::pair<size_t, std::string>::first);
  constexpr size_t most = 5;
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
  std::string text = fmt::format(
      "{}: {} in {}, {} between devices\n", subject, plural(explanation.nodes.size(), "node"),
      plural(explanation.regions.size(), "region"),
      explanation.copies.size() == 1 ? "1 copy" : fmt::format("{} copies", explanation.copies.size()));
  print_ports("input ", explanation.inputs, text);
  print_ports("output", explanation.outputs, text);
  for (const SymbolBinding& symbol : explanation.symbols) {
    text += fmt::format("size   {} = {}{}\n", symbol.symbol, symbol.value,
                        symbol.by_default ? " (by default)" : "");
  }
  for (const ExplainedSlot& slot : explanation.slots)
    text += fmt::format("slot   {} = {}\n", slot.name, slot.device);
  text += "\nRegions:\n";
  for (size_t r = 0; r < explanation.regions.size(); ++r) {
    const ExplainedRegion& region = explanation.regions[r];
    text += fmt::format("  {} {}: {} ({})\n", r, region.target, plural(region.nodes.size(), "node"),
                        sum_up_ops(explanation, r));
  }
  if (!explanation.alternatives.empty()) text += "\nWhere a library or device of these is missing:\n";
  for (const ExplainedAlternative& other : explanation.alternatives) {
    text += fmt::format("  {}{}\n", other.targets,
                        other.measured ? ", " + print_milliseconds(other.measured) : "");
  }
  if (!explanation.copies.empty()) text += "\nCopies:\n";
  for (const ExplainedCopy& copy : explanation.copies) {
    text += fmt::format("  {}: {} -> {}, {}\n", copy.value, copy.from, copy.to, print_bytes(copy.bytes));
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
