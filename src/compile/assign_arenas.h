// Arena offsets of a function's values.
#pragma once

#include "compile/build_function.h"

namespace intarsia {

/// Assigns an offset to every arena value and every step's workspace, with one arena per space. Whatever is
/// alive at the same time, in the order and overlap in which the steps will run, does not share memory.
/// `first_region` is the number of the function's first region in the program.
Status assign_arenas(const FunctionParts& parts, uint32_t first_region, fbs::FunctionT& function);

}  // namespace intarsia
