// Memory of the steps of a function in plain C.
#pragma once

#include <vector>

#include "emit_c/c_program.h"

namespace intarsia {

/// Gives the steps of a function, and of its branches and loops, places in an arena. Errors name what plain C
/// cannot do.
Result<CSteps> place_steps(const EmittedProgram& emitted, const fbs::FunctionT& function,
                           const std::vector<CSymbol>& symbols);

/// Returns the bytes of a value with open sizes at the ends of their ranges. Error: a run alone knows them.
Result<uint64_t> most_bytes(const fbs::FunctionT& function, const fbs::ValueT& value,
                            const std::vector<CSymbol>& symbols);

/// Returns the outer value, of those after what limits the iterations of a loop, that its body reads.
uint32_t value_of_loop(const fbs::StepT& step, size_t number);

/// Returns the bytes of a value of a function; unknown if they depend on data.
Dim bytes_of_value(const fbs::FunctionT& function, const fbs::ValueT& value);

}  // namespace intarsia
