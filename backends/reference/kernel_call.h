// Call of a reference kernel on memory that is planned or allocated while running.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "backends/reference/kernel.h"

namespace intarsia::reference {

/// Destination of an output. Not dynamic: `view` has memory, dtype and shape, and the kernel must agree.
/// Dynamic: the call sets `view` and `owner`.
struct OutputSlot {
  TensorView view;
  std::shared_ptr<void> owner;
  bool wanted = true;
  bool dynamic = true;
  bool given = false;  // whether the kernel has requested it
};

/// Runs the kernel; afterward every wanted output is set. An omitted input is null.
Status call_kernel(const KernelFunction& kernel, const Attributes& attributes, int version,
                   std::span<const ConstTensorView* const> inputs, std::span<OutputSlot> outputs);

}  // namespace intarsia::reference
