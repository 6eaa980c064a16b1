// Peak f32 arithmetic of the cores (measure/peak.h). One JSON object; GFLOP/s count a multiply-add as two.
//
//   bench_fma_peak [THREADS]...     default: 1
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "measure/peak.h"

namespace {

/// Returns GFLOP/s of all threads together, the best of several measurements: disturbances can only slow it
/// down.
double measure(const intarsia::FmaLoop& loop, int threads) {
  constexpr int measurements = 1000;
  double best = 0;
  for (int i = 0; i < measurements; ++i) {
    std::atomic<int> ready{0};
    std::vector<int64_t> nanoseconds(static_cast<size_t>(threads));
    auto work = [&](int thread) {
      ++ready;
      while (ready < threads) {
      }
      const int64_t begin = intarsia::clock_nanoseconds();
      loop.run();
      nanoseconds[static_cast<size_t>(thread)] = intarsia::clock_nanoseconds() - begin;
    };
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
    work(0);
    for (std::thread& other : others) other.join();
    best = std::max(best, loop.operations * threads / static_cast<double>(std::ranges::max(nanoseconds)));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const auto loop = intarsia::widest_fma_loop();
  if (!loop) {
    std::fprintf(stderr, "error: this CPU has no fused multiply-add on vectors\n");
    return 1;
  }
  std::vector<int> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(std::atoi(argv[i]));
  if (counts.empty()) counts.push_back(1);
  std::printf("{\"vectors\": \"%s\", \"results\": [", loop->vectors);
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 1) {
      std::fprintf(stderr, "error: %s: want numbers of threads, at least 1\n", argv[i + 1]);
      return 2;
    }
    std::printf("%s{\"threads\": %d, \"gflops\": %.1f}", i == 0 ? "" : ", ", counts[i],
                measure(*loop, counts[i]));
  }
  std::printf("]}\n");
}
