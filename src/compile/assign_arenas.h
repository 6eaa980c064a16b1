// Where the values of a function lie while it runs.
#pragma once

#include "compile/build_function.h"

namespace intarsia {

/// Gives every value in an arena, and the workspace of every step, its offset, so that what is alive at the
/// same time, in the order and the overlap in which steps will run, does not share memory; an arena a space.
/// `first_region` is the number of the function's first region in the program.
Status assign_arenas(const FunctionParts& parts, uint32_t first_region, fbs::FunctionT& function);

}  // namespace intarsia
