#include "graph/tensor_digest.h"

#include "base/digest.h"

namespace intarsia {
namespace {

void add_number(Digest& digest, int64_t number) { digest.add(std::as_bytes(std::span(&number, 1))); }

}  // namespace

uint64_t digest_tensor(const TensorView& tensor) {
  Digest digest;
  add_number(digest, static_cast<int64_t>(tensor.dtype));
  add_number(digest, static_cast<int64_t>(tensor.shape.size()));
  for (int64_t size : tensor.shape) add_number(digest, size);
  if (tensor.dtype != DType::string) {
    digest.add({static_cast<const std::byte*>(tensor.data), tensor.bytes()});
    return digest.value();
  }
  for (const std::string& element : tensor.as<std::string>()) {
    add_number(digest, static_cast<int64_t>(element.size()));
    digest.add(std::as_bytes(std::span(element)));
  }
  return digest.value();
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
