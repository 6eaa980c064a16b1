#include "backends/halide/memory/pack_weights.h"

#include "backends/halide/core/half_floats.h"
#include "backends/halide/core/permute_tensor.h"
#include "backends/halide/schedule/winograd.h"

namespace intarsia::halide {
namespace {

/// Returns an element in the dtype of packed weights: the same, or an f32 rounded to 16 bits.
template <typename To, typename From>
To packed_element(From element, DType dtype) {
  if constexpr (std::is_same_v<To, From>)
    return element;
  else
    return round_half_float(dtype, element);
}

template <typename T, typename To>
struct Packer {
  const T* from;
  Shape strides;  // strides of (output channel, input channel, taps...)
  To* to;
  int64_t panels, panel, channels, dot;  // channels: outputs of a group
  int64_t steps;                         // dot products along the depth
  DType dtype;                           // of packed weights

  /// Packs a group. Taps run in row-major order outside of input channels, lanes innermost, but for `dot`
  /// neighboring input channels.
  void pack(const Shape& taps, int64_t group, int64_t depth) {
    int64_t tap_count = element_count(taps);
    for (int64_t p = 0; p < panels; ++p)
      for (int64_t tap = 0; tap < tap_count; ++tap) {
        const int64_t offset = distance_of(tap, taps, std::span(strides).subspan(2));
        for (int64_t c = 0; c < steps * dot; c += dot)
          for (int64_t lane = 0; lane < panel; ++lane)
            for (int64_t d = 0; d < dot; ++d, ++to) {
              int64_t m = p * panel + lane;
              if (m >= channels || c + d >= depth) continue;
              *to = packed_element<To>(
                  from[(group * channels + m) * strides[0] + (c + d) * strides[1] + offset], dtype);
            }
      }
  }
};

template <typename T, typename To = T>
void pack_as(const Tensor& tensor, const Storage& storage, const Shape& shape, const Node& node,
             const Packing& packing, Tensor& out) {
  const Shape& packed = out.shape();
  const T* from = static_cast<const T*>(tensor.data()) + storage.offset.number();
  Packer<T, To> packer{.from = from,
                       .strides = {},
                       .to = static_cast<To*>(out.data()),
                       .panels = packing.panels,
                       .panel = packing.panel,
                       .channels = 0,
                       .dot = packing.dot,
                       .steps = packed[packed.size() - 2],
                       .dtype = out.dtype()};
  const Shape strides = fixed_sizes(storage.strides);
  if (op_of(node) == CoreOp::matmul) {
    size_t rank = shape.size();
    packer.strides = {strides[rank - 1], strides[rank - 2]};
    packer.channels = shape[rank - 1];
    const Shape batch(shape.begin(), shape.end() - 2);
    for (int64_t matrix = 0; matrix < element_count(batch); ++matrix) {
      packer.from = from + distance_of(matrix, batch, strides);
      packer.pack({}, 0, shape[rank - 2]);
    }
    return;
  }
  packer.strides = strides;
  packer.channels = shape[0] / packed[0];
  for (int64_t g = 0; g < packed[0]; ++g) packer.pack(Shape(shape.begin() + 2, shape.end()), g, shape[1]);
}

/// Returns the elements that `storage` refers to, one after the other.
Tensor gather_dense(const Tensor& tensor, const Storage& storage, const Shape& shape) {
  Tensor dense(DType::f32, shape);
  const float* from = static_cast<const float*>(tensor.data()) + storage.offset.number();
  std::span<float> to = dense.as<float>();
  const Shape strides = fixed_sizes(storage.strides);
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[distance_of(static_cast<int64_t>(i), shape, strides)];
  return dense;
}

}  // namespace

Tensor pack_weights(const Tensor& tensor, const Storage& storage, const Shape& shape, const Node& node,
                    const Shape& packed, const ContractionDetails& details) {
  const auto& [weights, schedule, packing] = details;
  const ContractionSchedule::Algorithm algorithm = schedule.algorithm;
  Tensor out(schedule.rounds() ? schedule.rounds_to : tensor.dtype(), packed);
  if (is_winograd(algorithm)) {
    const Tensor transformed = winograd_weights(gather_dense(tensor, storage, shape), winograd_of(algorithm));
    const Storage dense{storage.root, 0, to_symbolic(row_major_strides(transformed.shape()))};
    pack_as<float>(transformed, dense, transformed.shape(), node, packing, out);
    return out;
  }
  if (schedule.rounds()) {
    pack_as<float, uint16_t>(tensor, storage, shape, node, packing, out);
    return out;
  }
  const int bits = dtype_bits(tensor.dtype());
  INTARSIA_CHECK(bits == 8 || bits == 16 || bits == 32 || bits == 64);
  if (bits == 8)
    pack_as<uint8_t>(tensor, storage, shape, node, packing, out);
  else if (bits == 16)
    pack_as<uint16_t>(tensor, storage, shape, node, packing, out);
  else if (bits == 32)
    pack_as<uint32_t>(tensor, storage, shape, node, packing, out);
  else
    pack_as<uint64_t>(tensor, storage, shape, node, packing, out);
  return out;
}

}  // namespace intarsia::halide
