// Symbol of a kernel's code. It encodes the arguments that the code takes, so that no blob can call it with
// others.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/halide/abi/kernel_device.h"
#include "base/dtype.h"
#include "base/postfix_size.h"
#include "base/result.h"

namespace intarsia::halide {

/// Properties of an argument that a kernel's code relies on: the element type and where the elements lie.
struct ArgumentForm {
  DType dtype = DType::undefined;
  std::vector<int32_t> extents, strides;  // strides in elements
};

/// Returns the end of a kernel's symbol, "_<digest of the arguments>_argv". `arguments` are the inputs and,
/// last, the output.
inline std::string symbol_ending(std::span<const ArgumentForm> arguments,
                                 KernelDevice device = KernelDevice::cpu) {
  std::vector<int32_t> numbers;
  if (device != KernelDevice::cpu) numbers.push_back(-static_cast<int32_t>(device));
  for (const ArgumentForm& argument : arguments) {
    numbers.push_back(static_cast<int32_t>(argument.dtype));
    numbers.push_back(static_cast<int32_t>(argument.extents.size()));
    numbers.insert(numbers.end(), argument.extents.begin(), argument.extents.end());
    numbers.insert(numbers.end(), argument.strides.begin(), argument.strides.end());
  }
  return fmt::format("_{:016x}_argv", XXH3_64bits(numbers.data(), numbers.size() * sizeof(int32_t)));
}

/// Properties of an argument of code for open sizes: sizes are expressions over the kernel's symbols.
struct OpenArgumentForm {
  DType dtype = DType::undefined;
  std::vector<PostfixSize> extents, strides;
};

/// Returns the same for code that takes open sizes, `symbols` of them, as numbers after its inputs.
inline std::string symbol_ending(size_t symbols, std::span<const OpenArgumentForm> arguments,
                                 KernelDevice device = KernelDevice::cpu) {
  std::vector<int64_t> numbers{static_cast<int64_t>(symbols)};
  if (device != KernelDevice::cpu) numbers.push_back(-static_cast<int64_t>(device));
  const auto add = [&](const std::vector<PostfixSize>& sizes) {
    for (const PostfixSize& size : sizes) {
      numbers.push_back(static_cast<int64_t>(size.ops.size()));
      numbers.insert(numbers.end(), size.ops.begin(), size.ops.end());
      numbers.insert(numbers.end(), size.operands.begin(), size.operands.end());
    }
  };
  for (const OpenArgumentForm& argument : arguments) {
    numbers.push_back(static_cast<int64_t>(argument.dtype));
    numbers.push_back(static_cast<int64_t>(argument.extents.size()));
    add(argument.extents);
    add(argument.strides);
  }
  return fmt::format("_open_{:016x}_argv", XXH3_64bits(numbers.data(), numbers.size() * sizeof(int64_t)));
}

/// Room of a worker for values of open size within a kernel; larger ones come from the heap.
inline constexpr uint64_t open_scratch_bytes = 256 << 10;

}  // namespace intarsia::halide
