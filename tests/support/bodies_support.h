// Hand-made programs with a loop and with a branch, for tests of the run half alone.
#pragma once

#include "tests/support/runtime_support.h"

namespace intarsia::test {

/// Returns the program y = x + m x, by a loop that adds x m times, with all sums but the last in `all`.
ProgramMaker counted_sum();
/// Returns the program y = 2 x if c, else 3 x.
ProgramMaker branch_of_two();

}  // namespace intarsia::test
