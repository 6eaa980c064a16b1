// Owned tensors of TensorFlow, on our memory or as our tensors.
#pragma once

#include <memory>

#include "backends/tensorflow/library.h"
#include "base/tensor_view.h"

namespace intarsia::tf {

struct DeleteTensor {
  const Library* library = nullptr;
  void operator()(TF_Tensor* tensor) const { library->api().delete_tensor(tensor); }
};
using OwnedTensor = std::unique_ptr<TF_Tensor, DeleteTensor>;

/// Wraps the view's own memory, which must outlive the tensor (TensorFlow copies memory that is not aligned
/// to 64 bytes); strings are always copied. Fails for a dtype that TensorFlow lacks.
Result<OwnedTensor> wrap_tensor(const Library& library, const ConstTensorView& tensor);

/// Returns a tensor's dtype, shape and, except for strings, its memory.
Result<TensorView> describe_tensor(const Library& library, const TF_Tensor* tensor);

/// Returns a Tensor on the same memory, which it keeps alive; strings are copied.
Result<Tensor> adopt_tensor(const Library& library, OwnedTensor tensor);

/// Copies strings out of a tensor to `to`, an array with room for as many.
void copy_strings(const Library& library, const TF_Tensor* tensor, std::span<std::string> to);

}  // namespace intarsia::tf
