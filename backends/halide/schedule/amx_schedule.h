// Schedules of contractions on tile registers (AMX): eight registers of 16 rows by 64 bytes, four of which
// hold sums while the others hold factors.
#pragma once

#include <vector>

#include "backends/halide/schedule/contraction_schedule.h"

namespace intarsia::halide {

/// Rows of a tile register, and elements of 4 bytes in a row.
inline constexpr int amx_tile = 16;
/// Numbers of bf16 along the depth that one instruction multiplies and sums.
inline constexpr int amx_pairs = 2 * amx_tile;
/// Bytes of the depth that one instruction multiplies and sums.
inline constexpr int64_t amx_depth_bytes = 64;

/// Returns the least depth of factors of this many bytes for which products are faster on tile registers.
inline constexpr int64_t amx_least_depth(int64_t bytes) { return amx_depth_bytes / (bytes == 1 ? 4 : 8); }

/// Checks whether tile registers can hold the sums of a contraction: products of bf16, of f32 rounded to it,
/// or of u8 and i8.
bool allows_amx(const Graph& body, const Node& anchor, const Isa& isa, const ScheduleSpace& space);

/// Returns schedules, the fastest first by an estimate.
std::vector<ContractionSchedule> amx_schedules(const Graph& body, const Node& anchor,
                                               const ScheduleSpace& space);

}  // namespace intarsia::halide
