#include "target/target.h"

#include <algorithm>

namespace intarsia {

bool drives(const Target& target, const std::string& device_kind) {
  const std::vector<std::string>& kinds = target.info().device_kinds;
  return kinds.empty() || std::ranges::find(kinds, device_kind) != kinds.end();
}

}  // namespace intarsia
