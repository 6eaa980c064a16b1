// The stages' part of verify_program.
#pragma once

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

/// Of a function that was verified itself. Its stages are functions that hold on their own; run one after the
/// other they run each region of the function once, find every value that they read, and make every output.
Status verify_stages(const fbs::ProgramT& program, const fbs::FunctionT& function);

}  // namespace intarsia
