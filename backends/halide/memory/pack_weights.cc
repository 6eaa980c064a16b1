#include "backends/halide/memory/pack_weights.h"

#include "backends/halide/schedule/winograd.h"

namespace intarsia::halide {
namespace {

template <typename T>
struct Packer {
  const T* from;
  Shape strides;  // strides of (output channel, input channel, taps...)
  T* to;
  int64_t panels, panel, channels;  // channels: outputs of a group

  /// Packs a group. Taps run in row-major order outside of input channels, lanes innermost.
  void pack(const Shape& taps, int64_t group, int64_t depth) {
    int64_t tap_count = element_count(taps);
    for (int64_t p = 0; p < panels; ++p)
      for (int64_t tap = 0; tap < tap_count; ++tap) {
        int64_t offset = 0, rest = tap;
        for (size_t i = taps.size(); i-- > 0; rest /= taps[i]) offset += rest % taps[i] * strides[i + 2];
        for (int64_t c = 0; c < depth; ++c)
          for (int64_t lane = 0; lane < panel; ++lane, ++to) {
            int64_t m = p * panel + lane;
            if (m < channels) *to = from[(group * channels + m) * strides[0] + c * strides[1] + offset];
          }
      }
  }
};

template <typename T>
void pack_as(const Tensor& tensor, const Storage& storage, const Shape& shape, const Node& node,
             Tensor& out) {
  const Shape& packed = out.shape();
  const T* from = static_cast<const T*>(tensor.data()) + storage.offset.number();
  Packer<T> packer{from, {}, static_cast<T*>(out.data()), packed[1], packed.back(), 0};
  const Shape strides = fixed_sizes(storage.strides);
  if (op_of(node) == CoreOp::matmul) {
    size_t rank = shape.size();
    packer.strides = {strides[rank - 1], strides[rank - 2]};
    packer.channels = shape[rank - 1];
    packer.pack({}, 0, packed[2]);
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
  const Shape strides = row_major_strides(shape), from_strides = fixed_sizes(storage.strides);
  for (size_t i = 0; i < to.size(); ++i) {
    int64_t offset = 0;
    auto rest = static_cast<int64_t>(i);
    for (size_t axis = 0; axis < shape.size(); rest %= strides[axis], ++axis)
      offset += rest / strides[axis] * from_strides[axis];
    to[i] = from[offset];
  }
  return dense;
}

}  // namespace

Tensor pack_weights(const Tensor& tensor, const Storage& storage, const Shape& shape, const Node& node,
                    const Shape& packed, ContractionSchedule::Algorithm algorithm) {
  Tensor out(tensor.dtype(), packed);
  if (is_winograd(algorithm)) {
    const Tensor transformed = winograd_weights(gather_dense(tensor, storage, shape), winograd_of(algorithm));
    const Storage dense{storage.root, 0, to_symbolic(row_major_strides(transformed.shape()))};
    pack_as<float>(transformed, dense, transformed.shape(), node, out);
    return out;
  }
  if (tensor.dtype() == DType::f64)
    pack_as<double>(tensor, storage, shape, node, out);
  else
    pack_as<float>(tensor, storage, shape, node, out);
  return out;
}

}  // namespace intarsia::halide
