// Buffers for the arguments of a function that a user wrote with Halide.
#pragma once

#include <array>
#include <span>

#include "backends/halide/abi/function_metadata.h"

namespace intarsia::halide {

/// Arguments of a call, on the stack: pointers to the user context, to scalars and to buffers.
class ArgumentBuffers {
 public:
  explicit ArgumentBuffers(void* context) : context_(context) { pointers_[count_++] = &context_; }
  ArgumentBuffers(const ArgumentBuffers&) = delete;
  ArgumentBuffers& operator=(const ArgumentBuffers&) = delete;

  void add_scalar(void* value) { pointers_[count_++] = value; }

  /// Adds a dense tensor, whose sizes and first coordinates have the outermost axis first; without `mins`
  /// these are 0. There must be room for it (max_function_arguments, max_function_dimensions).
  HalideBuffer& add_buffer(const HalideType& type, void* data, std::span<const int64_t> sizes,
                           std::span<const int32_t> mins) {
    HalideBuffer& buffer = buffers_[count_];
    HalideDimension* dims = dims_.data() + used_dims_;
    buffer = {.host = static_cast<uint8_t*>(data),
              .type = type,
              .dimensions = static_cast<int32_t>(sizes.size()),
              .dim = dims};
    buffer.type.lanes = 1;
    int64_t stride = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t axis = sizes.size() - 1 - i;
      dims[i] = {mins.empty() ? 0 : mins[axis], static_cast<int32_t>(sizes[axis]),
                 static_cast<int32_t>(stride), 0};
      stride *= sizes[axis];
    }
    used_dims_ += sizes.size();
    pointers_[count_++] = &buffer;
    return buffer;
  }

  void** pointers() { return pointers_.data(); }

 private:
  void* context_;
  size_t count_ = 0, used_dims_ = 0;
  std::array<void*, max_function_arguments> pointers_{};
  std::array<HalideBuffer, max_function_arguments> buffers_;
  std::array<HalideDimension, max_function_dimensions> dims_;
};

}  // namespace intarsia::halide
