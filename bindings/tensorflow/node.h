// Op nodes: kernels that TensorFlow creates for a node of a graph, and runs from any number of threads.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "bindings/tensorflow/artifact.h"
#include "bindings/tensorflow/tensorflow_api.h"

namespace intarsia::op {

inline constexpr const char* op_name = "Intarsia";

struct DeleteTensor {
  void operator()(TF_Tensor* tensor) const { TF_DeleteTensor(tensor); }
};
/// Reference to a tensor.
using TensorReference = std::unique_ptr<TF_Tensor, DeleteTensor>;

class Node {
 public:
  /// Reads the attributes. Throws a Failure.
  explicit Node(TF_OpKernelConstruction* construction);

  /// Runs the function of the program that input 0 names, on the other inputs. Throws a Failure.
  void compute(TF_OpKernelContext* context);
  const std::string& name() const { return name_; }

 private:
  std::shared_ptr<const Artifact> open_artifact(TF_OpKernelContext* context);
  std::shared_ptr<const Artifact> find_open(const TF_Tensor* text) const;

  std::string name_, function_;
  Options options_;
  mutable std::mutex mutex_;
  TensorReference text_;  // what artifact_ was opened from
  std::shared_ptr<const Artifact> artifact_;
};

}  // namespace intarsia::op
