// Conversion of our tensors to OpenVINO's, and back.
#pragma once

#include "backends/openvino/library.h"
#include "base/tensor_view.h"

namespace intarsia::openvino {

/// Returns the dtype of OpenVINO's element type; undefined if we do not have it, or do not exchange it.
DType dtype_of(uint32_t type);

/// Returns a tensor of the library on the view's own memory, which must outlive it. A run writes to outputs
/// alone. Error: a dtype that cannot be exchanged, such as strings.
Result<Owned<TensorHandle>> wrap_tensor(const Library& library, const ConstTensorView& tensor);

/// Returns a view of a tensor's memory, which the tensor owns.
Result<TensorView> view_tensor(const Library& library, const TensorHandle* tensor);

}  // namespace intarsia::openvino
