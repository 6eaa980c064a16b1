// Form of a reference kernel: a plain function of attributes and tensor views, independent of the graph.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/attributes.h"
#include "base/tensor_view.h"

namespace intarsia::reference {

/// Call of a kernel.
class KernelContext {
 public:
  virtual ~KernelContext() = default;
  const Attributes& attributes() const { return *attributes_; }
  int version() const { return version_; }  // opset version of the node: the kernel follows that form
  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return output_count_; }
  bool has_input(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  bool wants_output(size_t i) const { return i < output_count_ && wanted_[i]; }
  const ConstTensorView& input(size_t i) const { return *inputs_[i]; }

  /// Returns the memory of an output. If it was planned, dtype and shape must be the planned ones (anything
  /// else is an error); if the shape depends on data, memory is allocated now. Call it once for each wanted
  /// output.
  virtual Result<TensorView> output(size_t i, DType dtype, const Shape& shape) = 0;

  /// Returns an integer input (i32 or i64) as numbers: axes, shapes, repeats.
  Result<std::vector<int64_t>> input_ints(size_t i) const;

 protected:
  const Attributes* attributes_ = nullptr;
  int version_ = 0;
  std::span<const ConstTensorView* const> inputs_;
  std::span<const bool> wanted_;
  size_t output_count_ = 0;
};

using Kernel = Status (*)(KernelContext& context);
/// Kernel with its own state, for example from a user's library.
using KernelFunction = std::function<Status(KernelContext& context)>;

struct KernelEntry {
  std::string_view op;
  std::string_view domain;
  Kernel kernel;
};

/// Returns the kernel of an operator, or null. The kernel fails for dtypes that it does not take.
Kernel find_kernel(std::string_view domain, std::string_view op);

}  // namespace intarsia::reference
