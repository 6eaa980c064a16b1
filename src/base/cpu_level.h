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

/// Returns the features, by GCC's names, of code that multiplies numbers of 8 and 16 bits and sums neighbors
/// in one instruction, besides those of x86-64-v4.
std::vector<std::string> dot_product_features();

/// Checks whether this machine has these features.
bool has_dot_products();

}  // namespace intarsia
