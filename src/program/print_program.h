// Programs as text, for people: `explain`, debugging, tests.
#pragma once

#include <string>

#include "program/program.h"

namespace intarsia {

/// Prints slots, functions with their values and steps, regions, constants:
///   function main(image: f32[1x3x8x8]) -> (scores: f32[1x10])
///     step 0: run region 0 (halide@cpu) image -> t1
///     step 1: copy t1 (cpu) -> t1.accel (accel)
std::string print_program(const fbs::ProgramT& program);

/// Returns backend and slot: "halide@cpu".
std::string target_of(const fbs::ProgramT& program, const fbs::RegionT& region);
/// Returns the targets of all its regions, each once, in alphabetical order: "halide@cpu + reference@cpu".
std::string targets_of(const fbs::ProgramT& program, const fbs::FunctionT& function);

}  // namespace intarsia
