#include "runtime/region_text.h"

#include <fmt/ranges.h>

#include <set>
#include <vector>

namespace intarsia {

std::string region_text(const fbs::ProgramT& program, size_t region) {
  constexpr size_t most = 4;
  std::vector<std::string> names;
  size_t more = 0;
  for (const auto& node : program.nodes) {
    if (node->region != region) continue;
    if (names.size() < most) {
      names.push_back(fmt::format("{} ({})", node->name, node->op));
    } else {
      ++more;
    }
  }
  std::string nodes = names.empty() ? std::string() : fmt::format(": {}", fmt::join(names, ", "));
  if (more > 0) nodes += fmt::format(" and {} more", more);
  const fbs::RegionT& about = *program.regions[region];
  return fmt::format("region {} ({}@{}{})", region, about.backend, program.slots[about.slot]->name, nodes);
}

std::string backend_ops(const fbs::ProgramT& program, const std::string& backend) {
  std::set<std::string> ops;
  for (const auto& node : program.nodes) {
    if (node->region < program.regions.size() && program.regions[node->region]->backend == backend)
      ops.insert(node->op);
  }
  return fmt::format("{}", fmt::join(ops, ", "));
}

}  // namespace intarsia
