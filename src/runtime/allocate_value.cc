#include "runtime/allocate_value.h"

#include <algorithm>

namespace intarsia {

std::optional<Tensor> allocate_value(const fbs::ValueT& value) {
  const std::vector<int64_t>& dims = value.tuned_dims.empty() ? value.dims : value.tuned_dims;
  const bool is_known =
      !value.rank_unknown && std::ranges::all_of(dims, [](int64_t size) { return size >= 0; });
  if (!is_known || value.dtype == 0) return std::nullopt;
  return Tensor(static_cast<DType>(value.dtype), dims);
}

}  // namespace intarsia
