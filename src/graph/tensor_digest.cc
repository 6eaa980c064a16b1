#include "graph/tensor_digest.h"

#define XXH_INLINE_ALL  // no library to link, no symbol that could clash with another copy in the process
#include <xxhash.h>

namespace intarsia {
namespace {

class Hasher {
 public:
  Hasher() { XXH3_64bits_reset(&state_); }
  void add(const void* data, size_t bytes) { XXH3_64bits_update(&state_, data, bytes); }
  void add(int64_t number) { add(&number, sizeof(number)); }
  uint64_t value() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace

uint64_t digest_tensor(const TensorView& tensor) {
  Hasher hasher;
  hasher.add(static_cast<int64_t>(tensor.dtype));
  hasher.add(static_cast<int64_t>(tensor.shape.size()));
  for (int64_t size : tensor.shape) hasher.add(size);
  if (tensor.dtype != DType::string) {
    if (tensor.bytes() > 0) hasher.add(tensor.data, tensor.bytes());
    return hasher.value();
  }
  for (const std::string& element : tensor.as<std::string>()) {
    hasher.add(static_cast<int64_t>(element.size()));
    hasher.add(element.data(), element.size());
  }
  return hasher.value();
}

std::map<uint64_t, Tensor> digest_tensors(const Graph& graph) {
  std::map<uint64_t, Tensor> tensors;
  for (const Value& value : graph.values) {
    if (value.constant) tensors.emplace(digest_tensor(value.constant->view()), *value.constant);
  }
  for (const Node& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      if (auto* tensor = std::get_if<Tensor>(&attribute))
        tensors.emplace(digest_tensor(tensor->view()), *tensor);
    }
  }
  return tensors;
}

}  // namespace intarsia
