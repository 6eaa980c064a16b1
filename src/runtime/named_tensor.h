// Arguments of a run.
#pragma once

#include <memory>
#include <string_view>

#include "base/tensor_view.h"

namespace intarsia {

/// Caller's allocator of an output without data.
struct OutputAllocator {
  /// Returns memory for a tensor of this dtype and shape, or null if there is none.
  void* (*allocate)(void* user, std::string_view name, const TensorView& tensor) = nullptr;
  void* user = nullptr;
};

/// Argument of a run. An input's memory is read until the run returns; an opaque input has only an owner.
///
/// An output with data is the caller's buffer, of the output's dtype and shape. Without data, the run sets
/// dtype, shape and data to memory from `allocator`, or else to memory that `owner` keeps alive, as for
/// dynamic outputs and strings; opaque outputs have only an owner.
struct NamedTensor {
  std::string_view name;
  TensorView tensor;
  std::shared_ptr<void> owner;
  OutputAllocator allocator = {};
};

}  // namespace intarsia
