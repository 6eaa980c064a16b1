// Part of verify_program() for a function.
#pragma once

#include <algorithm>

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

inline constexpr size_t max_rank = 64;  // numpy's limit
/// Keeps every sum of offsets and sizes in range.
inline constexpr uint64_t max_arena_bytes = std::min<uint64_t>(uint64_t{1} << 48, SIZE_MAX / 2);

/// Verifies a function of a program whose slots, constants and regions have been verified. With `is_stage`,
/// values of callers may have axes, too.
Status verify_function(const fbs::ProgramT& program, const fbs::FunctionT& function, bool is_stage = false);

}  // namespace intarsia
