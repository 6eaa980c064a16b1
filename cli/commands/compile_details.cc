#include "cli/commands/compile_details.h"

#include <fmt/format.h>

namespace {

std::string print_code(const Json& code) {
  if (code["kernels"] == 0) return "";
  const Json& slowest = code["slowest"];
  return fmt::format("  code      for {}: {:.1f} s of CPU time{}\n",
                     count_of(code["kernels"].get<size_t>(), "kernel"), code["cpu_seconds"].get<double>(),
                     slowest.is_null()
                         ? ""
                         : fmt::format(", at most {:.1f} s for {}", slowest["cpu_seconds"].get<double>(),
                                       slowest["kernel"].get<std::string>()));
}

/// Formats "  times     of 4 regions now, of 2 from earlier compiles
/// ".
std::string print_times(const std::string& of, const Json& now, const Json& earlier) {
  if (now == 0 && earlier == 0) return "";
  return fmt::format("  times     of {} now, of {} from earlier compiles\n", count_of(now.get<size_t>(), of),
                     earlier.get<size_t>());
}

std::string print_plans(const Json& function) {
  std::string text;
  const Json& plan = function["plan"];
  if (!plan.is_null()) text = print_times("region", plan["regions_measured"], plan["regions_remembered"]);
  for (const Json& segment : function["segments"]) {
    std::string times;
    for (const auto& [target, ms] : segment["ms"].items())
      if (!ms.is_null())
        times += fmt::format("{}{} {:.3g} ms", times.empty() ? "" : ", ", target, ms.get<double>());
    const Json& nodes = segment["source_nodes"];
    const std::string first = nodes.empty() ? "" : nodes[0].get<std::string>();
    text += fmt::format("  part      {} from {}: {}\n", count_of(nodes.size(), "node"), first, times);
  }
  return text;
}

}  // namespace

std::string print_details(const Json& function) {
  std::string text;
  if (!function["predicted_ms"].is_null())
    text = fmt::format("  predicted {:.3g} ms\n", function["predicted_ms"].get<double>());
  const Json& tuning = function["tuning"];
  return text + print_plans(function) + print_times("variant", tuning["measured"], tuning["remembered"]) +
         print_code(function["code_generation"]);
}
