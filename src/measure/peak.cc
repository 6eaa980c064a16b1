#include "measure/peak.h"

#include <immintrin.h>

#include <algorithm>

#include "base/clock.h"

namespace intarsia {
namespace {

// Chains, more than latency (4 cycles) times units (2) requires, and few enough for the registers.
constexpr int chains = 12;
constexpr long steps = 50'000;  // steps of all chains in one run, shorter than a time slice

/// Body of a loop. The chains must stay in registers: every loop over them is unrolled. Values stay at their
/// fixed point, so that none becomes subnormal or infinite, which could be slower.
#define INTARSIA_FMA_LOOP(Vector, broadcast, fma, constraint)                          \
  Vector sums[chains];                                                                 \
  const Vector factor = broadcast(0.5f), offset = broadcast(0.5f);                     \
  _Pragma("GCC unroll 12") for (int k = 0; k < chains; ++k) sums[k] = broadcast(1.0f); \
  for (long i = 0; i < steps; ++i) {                                                   \
    _Pragma("GCC unroll 12") for (int k = 0; k < chains; ++k) {                        \
      sums[k] = fma(sums[k], factor, offset);                                          \
      asm volatile("" : "+" constraint(sums[k]));                                      \
    }                                                                                  \
  }                                                                                    \
  float total = 0;                                                                     \
  _Pragma("GCC unroll 12") for (int k = 0; k < chains; ++k) total += sums[k][0];       \
  return total

__attribute__((target("avx512f"))) float run_avx512() {
  INTARSIA_FMA_LOOP(__m512, _mm512_set1_ps, _mm512_fmadd_ps, "v");
}

__attribute__((target("avx2,fma"))) float run_avx2() {
  INTARSIA_FMA_LOOP(__m256, _mm256_set1_ps, _mm256_fmadd_ps, "x");
}

constexpr double count_operations(int lanes) { return 2.0 * lanes * chains * steps; }

}  // namespace

std::optional<FmaLoop> widest_fma_loop() {
  if (__builtin_cpu_supports("avx512f")) return FmaLoop{"avx512", count_operations(16), run_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return FmaLoop{"avx2", count_operations(8), run_avx2};
  return std::nullopt;
}

double measure_peak() {
  constexpr int rounds = 30;
  const std::optional<FmaLoop> loop = widest_fma_loop();
  if (!loop) return 0;
  int64_t least = INT64_MAX;
  for (int round = 0; round < rounds; ++round) {
    const int64_t begin = clock_nanoseconds();
    loop->run();
    least = std::min(least, clock_nanoseconds() - begin);
  }
  return loop->operations / static_cast<double>(least);
}

}  // namespace intarsia
