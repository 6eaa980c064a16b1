#include "backends/halide/core/half_floats.h"

#include <algorithm>

namespace intarsia::halide {

Tensor narrowed(const Tensor& wide, DType dtype) {
  Tensor half(dtype, wide.shape());
  std::ranges::transform(wide.as<float>(), half.as<uint16_t>().begin(),
                         [&](float number) { return round_half_float(dtype, number); });
  return half;
}

}  // namespace intarsia::halide
