// Greatest number of bytes that open sizes lead to.
#pragma once

#include <optional>
#include <vector>

#include "emit_c/c_program.h"

namespace intarsia {

struct GreatestBytes {
  uint64_t bytes = 0;
  bool is_of_all = true;  // no size in the ranges gives more
};

/// Finds the greatest number of bytes for sizes in their ranges: all of them, or some where they are many;
/// nullopt if other sizes count, too, or some number is too large.
std::optional<GreatestBytes> find_greatest(const Dim& bytes, const std::vector<CSymbol>& symbols);

}  // namespace intarsia
