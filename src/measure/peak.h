// Peak f32 arithmetic of a core.
#pragma once

#include <optional>

namespace intarsia {

/// Loop of fused multiply-adds on registers alone, with the widest vectors of this CPU.
struct FmaLoop {
  const char* vectors;  // "avx512"
  double operations;    // operations of one run, a multiply-add counted as two
  float (*run)();       // runs the loop; the result is meaningless
};

/// Returns the widest loop; nullopt if this CPU has no fused multiply-add on vectors.
std::optional<FmaLoop> widest_fma_loop();

/// Measures the f32 operations per nanosecond of one core, the best of several runs of the loop, as
/// disturbances can only slow it down. Returns 0 if unknown. Takes a few milliseconds.
double measure_peak();

}  // namespace intarsia
