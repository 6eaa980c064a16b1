// The levels of the x86-64 psABI that code can be made for.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// "native" becomes the highest level that this machine has; the other names ("x86-64-v2", "x86-64-v3",
/// "x86-64-v4") stay. On another architecture "native" is "generic", the only name there.
Result<std::string> resolve_cpu_level(const std::string& name);

/// What loading requires of a machine for code of a resolved level, by GCC's feature names.
std::vector<std::string> features_of_cpu_level(const std::string& level);

}  // namespace intarsia
