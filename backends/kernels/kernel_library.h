// A user's library of kernels (include/intarsia/kernel.h), opened and checked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/attributes.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "include/intarsia/kernel.h"

namespace intarsia::kernels {

/// User's library of kernels, which stays open while it is referenced.
class KernelLibrary {
 public:
  /// Opens a library. Errors: missing, not loadable, no `intarsia_kernels`, another ABI, an incomplete entry.
  static Result<std::shared_ptr<const KernelLibrary>> open(const std::string& path);

  const std::string& path() const { return path_; }
  /// Finds the kernel of an operator; null if the library has none.
  const intarsia_kernel* find(const std::string& domain, const std::string& op) const;

 private:
  std::string path_;
  std::shared_ptr<void> handle_;
  std::vector<const intarsia_kernel*> kernels_;
};

/// Description of a node for a library. Refers to the attributes, which must outlive it.
class NodeDescription {
 public:
  NodeDescription(const std::string& op, const std::string& domain, int version,
                  const Attributes& attributes);
  NodeDescription(const NodeDescription&) = delete;
  NodeDescription& operator=(const NodeDescription&) = delete;
  const intarsia_kernel_node* get() const { return &node_; }

 private:
  struct Lists;
  std::vector<intarsia_kernel_attribute> attributes_;
  std::vector<std::vector<const char*>> texts_;
  intarsia_kernel_node node_;
};

/// Describes a type with sizes, -1 where unknown. Data is null.
Result<intarsia_kernel_tensor> describe_tensor(DType dtype, const std::vector<int64_t>& sizes);

/// Asks the kernel for its outputs' types. `outputs` has one entry per output; dtype 0 on return for one that
/// it did not set. Checks the returned dtype, rank and sizes.
Status infer_outputs(const intarsia_kernel& kernel, const NodeDescription& node,
                     const std::vector<intarsia_kernel_tensor>& inputs,
                     std::vector<intarsia_kernel_tensor>& outputs);

/// Runs the kernel on prepared tensors.
Status run_kernel(const intarsia_kernel& kernel, const NodeDescription& node,
                  const std::vector<intarsia_kernel_tensor>& inputs,
                  const std::vector<intarsia_kernel_tensor>& outputs);

}  // namespace intarsia::kernels
