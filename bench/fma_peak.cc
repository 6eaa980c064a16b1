// The most f32 arithmetic that a core can do: fused multiply-adds on registers alone, with the widest vectors
// of this CPU. One JSON object; GFLOP/s count a multiply-add as two.
//
//   bench_fma_peak [THREADS]...     default: 1
#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

// More chains than latency (4 cycles) times units (2) requires, and few enough for the registers.
constexpr int chains = 12;
constexpr long steps = 50'000;  // of all chains in one measurement: shorter than a time slice of the system

/// The chains must stay in registers: every loop over them is unrolled. Values stay at their fixed point, so
/// that none becomes subnormal or infinite, which could be slower.
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

struct Kind {
  const char* name;
  int lanes;
  float (*run)();
};

Kind widest() {
  if (__builtin_cpu_supports("avx512f")) return {"avx512", 16, run_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {"avx2", 8, run_avx2};
  std::fprintf(stderr, "error: this CPU has no fused multiply-add on vectors\n");
  std::exit(1);
}

/// GFLOP/s of all threads together, the best of several measurements: disturbances can only slow it down.
double measure(const Kind& kind, int threads) {
  constexpr int measurements = 1000;
  double best = 0;
  for (int i = 0; i < measurements; ++i) {
    std::atomic<int> ready{0};
    std::vector<double> seconds(static_cast<size_t>(threads));
    auto work = [&](int thread) {
      ++ready;
      while (ready < threads) {
      }
      const auto start = std::chrono::steady_clock::now();
      volatile float keep = kind.run();
      (void)keep;
      seconds[static_cast<size_t>(thread)] =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
    work(0);
    for (std::thread& other : others) other.join();
    const double flops = 2.0 * kind.lanes * chains * steps * threads;
    best = std::max(best, flops / *std::max_element(seconds.begin(), seconds.end()) / 1e9);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const Kind kind = widest();
  std::vector<int> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(std::atoi(argv[i]));
  if (counts.empty()) counts.push_back(1);
  std::printf("{\"vectors\": \"%s\", \"results\": [", kind.name);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 1) {
      std::fprintf(stderr, "error: %s: want numbers of threads, at least 1\n", argv[i + 1]);
      return 2;
    }
    std::printf("%s{\"threads\": %d, \"gflops\": %.1f}", i == 0 ? "" : ", ", counts[i],
                measure(kind, counts[i]));
  }
  std::printf("]}\n");
}
