// Levels of the x86-64 psABI that code can be generated for.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Resolves "native" to the highest level that this machine supports; the other names ("x86-64-v2",
/// "x86-64-v3", "x86-64-v4") stay. On other architectures "native" becomes "generic", the only level there.
Result<std::string> resolve_cpu_level(const std::string& name);

/// Returns the features, by GCC's names, that a machine needs to load code of a resolved level.
std::vector<std::string> features_of_cpu_level(const std::string& level);

}  // namespace intarsia
