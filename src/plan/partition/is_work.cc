#include "plan/partition/is_work.h"

#include <algorithm>

#include "graph/op_families.h"

namespace intarsia {

bool is_work(const Node& node) {
  if (node.op.contains("Conv") || node.op.contains("MatMul")) return true;
  const auto is_in = [&](std::span<const OpInfo> family) {
    return std::ranges::any_of(
        family, [&](const OpInfo& op) { return op.name == node.op && op.domain == node.domain; });
  };
  return is_in(contraction_ops()) || is_in(attention_ops()) || is_in(recurrent_ops());
}

}  // namespace intarsia
