// The most f32 arithmetic that a core can do.
#pragma once

#include <optional>

namespace intarsia {

/// Fused multiply-adds on registers alone, with the widest vectors of this CPU.
struct FmaLoop {
  const char* vectors;  // "avx512"
  double operations;    // of one run, a multiply-add counted as two
  float (*run)();       // the result has no meaning
};

/// Nothing: this CPU has no fused multiply-add on vectors.
std::optional<FmaLoop> widest_fma_loop();

/// f32 operations per nanosecond of one core, the best of several runs of the loop: disturbances can only
/// slow it down. 0: not known. Takes a few milliseconds.
double measure_peak();

}  // namespace intarsia
