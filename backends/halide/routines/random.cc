// Random numbers, the same for a seed as those of the reference kernels, which use the same generator and
// distributions.
#include <cstdint>
#include <random>

#include "backends/halide/routines/routine.h"

namespace intarsia::halide::routines {
namespace {

/// Fills the output, whose elements are side by side.
template <typename Distribution>
void fill(Distribution distribution, uint32_t seed, const HalideBuffer& output) {
  int64_t count = 1;
  for (int axis = 0; axis < output.dimensions; ++axis) count *= output.dim[axis].extent;
  std::mt19937_64 generator(seed);
  auto* const to = first<double>(output);
  for (int64_t i = 0; i < count; ++i) to[i] = distribution(generator);
}

}  // namespace

extern "C" {

int intarsia_random(uint32_t seed, int normal, HalideBuffer* output) {
  if (output->host == nullptr) return 0;
  if (normal != 0)
    fill(std::normal_distribution<double>(), seed, *output);
  else
    fill(std::uniform_real_distribution<double>(), seed, *output);
  return 0;
}
}

}  // namespace intarsia::halide::routines
