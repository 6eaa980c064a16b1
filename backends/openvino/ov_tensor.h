// Tensors of ours as OpenVINO's, and the other way round.
#pragma once

#include "backends/openvino/ov_library.h"
#include "base/tensor_view.h"

namespace intarsia::openvino {

/// The dtype of OpenVINO's element type; undefined: we do not have it, or do not exchange it.
DType dtype_of(uint32_t type);

/// A tensor of the library on the view's own memory, which must outlive it. A run writes to what is an output
/// alone. Error: a dtype that cannot be exchanged, as strings.
Result<Owned<TensorHandle>> wrap_tensor(const Library& library, const ConstTensorView& tensor);

/// A tensor's memory, which is the tensor's.
Result<TensorView> view_tensor(const Library& library, const TensorHandle* tensor);

}  // namespace intarsia::openvino
