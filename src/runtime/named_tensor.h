// Arguments of a run.
#pragma once

#include <memory>
#include <string_view>

#include "base/tensor_view.h"

namespace intarsia {

/// Argument of a run. An input's memory is read until the run returns; an opaque input has only an owner.
///
/// An output with data is the caller's buffer, of the output's dtype and shape. Without data, the run sets
/// dtype, shape and data to memory that `owner` keeps alive; opaque outputs have only an owner.
struct NamedTensor {
  std::string_view name;
  TensorView tensor;
  std::shared_ptr<void> owner;
};

}  // namespace intarsia
