#include "runtime/check_shape.h"

#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace intarsia {
namespace {

std::string print_dims(const std::vector<int64_t>& dims) {
  std::vector<std::string> sizes;
  for (int64_t size : dims) sizes.push_back(size < 0 ? "?" : std::to_string(size));
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(sizes, "x"));
}

/// Returns advice for a picture, or a batch of them, whose channels are last where the model has them first,
/// or vice versa; empty for other shapes. Negative sizes in `wanted` match any.
std::string advise_on_layout(const Shape& given, const std::vector<int64_t>& wanted) {
  const auto is_given = [&](const std::vector<size_t>& axes) {
    for (size_t i = 0; i < axes.size(); ++i)
      if (wanted[i] >= 0 && wanted[i] != given[axes[i]]) return false;
    return true;
  };
  if (given.size() != 4 || wanted.size() != 4) return {};
  if (is_given({0, 3, 1, 2}))
    return "it looks like NHWC where the model has NCHW: transpose it, as numpy's x.transpose(0, 3, 1, 2)";
  if (is_given({0, 2, 3, 1}))
    return "it looks like NCHW where the model has NHWC: transpose it, as numpy's x.transpose(0, 2, 3, 1)";
  return {};
}

}  // namespace

Status check_shape(std::string_view what, const fbs::ValueT& value, const Shape& shape) {
  const std::vector<int64_t>& dims = value.dims;
  if (!value.rank_unknown && shape.size() != dims.size()) {
    return fail("{} '{}' has rank {} (shape {}), want rank {} (shape {})", what, value.name, shape.size(),
                print_shape(shape), dims.size(), print_dims(dims));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] == shape[i]) continue;
    const std::string advice = advise_on_layout(shape, dims);
    return fail("{} '{}' has shape {}, want {}: {}", what, value.name, print_shape(shape), print_dims(dims),
                advice.empty() ? "compile the model again for another shape (--shape)" : advice);
  }
  TRY(with_context(checked_elements(shape), "{} '{}'", what, value.name));
  return {};
}

}  // namespace intarsia
