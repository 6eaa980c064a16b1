// TensorFlow's knowledge of its operators.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "backends/tensorflow/library.h"
#include "graph/graph.h"
#include "target/target.h"
#include "tensorflow/messages.h"

namespace intarsia::tf {

class OpRegistry {
 public:
  explicit OpRegistry(const Library& library) : library_(library) {}

  /// Finds an operator; null if TensorFlow lacks it, even in the libraries loaded so far. Thread-safe.
  Result<const tensorflow::OpDef*> find(const std::string& op) const;
  std::vector<std::string> names() const;

  /// Checks whether some CPU kernel takes the node's types.
  Support has_kernel(const std::string& op, const Attributes& attributes) const;

 private:
  void read_all() const;

  struct Kernel {
    std::map<std::string, std::set<int32_t>> types;  // types that it takes, by type attribute
  };

  const std::vector<Kernel>& kernels_of(const std::string& op) const;

  const Library& library_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::map<std::string, tensorflow::OpDef> ops_;
  mutable std::map<std::string, std::vector<Kernel>> kernels_;
};

/// Returns the registry of the process's library.
Result<const OpRegistry*> op_registry();

}  // namespace intarsia::tf
