// Part of verify_program() for stages.
#pragma once

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

/// Verifies the stages of a function that was verified itself. Each is a function that is valid on its own;
/// run one after the other they run each region once, find every value that they read, and make every output.
Status verify_stages(const fbs::ProgramT& program, const fbs::FunctionT& function);

}  // namespace intarsia
