#include "rewrite/saver_lists.h"

#include <algorithm>

namespace intarsia {

using namespace tensorflow;

std::vector<std::string> strings_of(const NodeDef& constant) {
  const Tensor* value = constant.attributes.get_tensor("value");
  if (value == nullptr || value->dtype() != DType::string) return {};
  const std::span<std::string> texts = value->as<std::string>();
  return {texts.begin(), texts.end()};
}

void set_strings(NodeDef& constant, const std::vector<std::string>& texts) {
  Tensor tensor(DType::string, {static_cast<int64_t>(texts.size())});
  std::ranges::copy(texts, tensor.as<std::string>().begin());
  constant.attributes.set("value", std::move(tensor));
}

}  // namespace intarsia
