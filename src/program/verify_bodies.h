// Part of verify_function() for steps that run bodies.
#pragma once

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

/// Verifies a branch or loop of `function`, whose values have been verified, and its bodies.
Status verify_bodies(const fbs::ProgramT& program, const fbs::FunctionT& function, const fbs::StepT& step);

}  // namespace intarsia
