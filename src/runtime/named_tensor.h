// An argument of a run.
#pragma once

#include <memory>
#include <string_view>

#include "base/tensor_view.h"

namespace intarsia {

/// An input: the tensor's memory is read until the run returns. An opaque input has no tensor but an owner.
///
/// An output: with data, the caller's buffer, of the output's dtype and shape. Without, the run allocates
/// memory, sets dtype, shape and data, and `owner` keeps it alive; opaque outputs have only an owner.
struct NamedTensor {
  std::string_view name;
  TensorView tensor;
  std::shared_ptr<void> owner;
};

}  // namespace intarsia
