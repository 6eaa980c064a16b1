// Values for inputs that were not given.
#include "api/external_tensor.h"
#include "api/handles.h"
#include "base/fill_tensor.h"

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_tensor_fill(const intarsia_tensor* tensor, uint64_t seed) {
  return guarded([&]() -> Status {
    if (tensor == nullptr) return fail("the tensor is a null pointer");
    TRY(check_sizes("input", tensor, 1));
    const std::string_view name = tensor->name == nullptr ? "" : tensor->name;
    if (tensor->kind != INTARSIA_TENSOR || tensor->dtype <= 0 || tensor->dtype >= dtype_count) {
      return fail("input '{}' is not a tensor and cannot be filled, give it", name);
    }
    const TensorView view{tensor->data, static_cast<DType>(tensor->dtype),
                          Shape(tensor->shape, tensor->shape + tensor->rank)};
    TRY(with_context(checked_elements(view.shape), "input '{}'", name));
    return with_context(fill_tensor(view, seed), "input '{}'", name);
  });
}
