#include "graph/op_table.h"

#include <algorithm>
#include <tuple>

#include "graph/op_families.h"

namespace intarsia {
namespace {

std::vector<OpInfo> build_table() {
  std::vector<OpInfo> table;
  for (auto family :
       {elementwise_ops, reduction_ops, normalization_ops, quantization_ops, recurrent_ops, signal_ops,
        attention_ops, random_ops, movement_ops, indexing_ops, window_ops, contraction_ops, image_ops,
        selection_ops, machine_learning_ops, text_ops, training_ops}) {
    std::span<const OpInfo> rows = family();
    table.insert(table.end(), rows.begin(), rows.end());
  }
  std::ranges::sort(table, {}, [](const OpInfo& row) { return std::tie(row.domain, row.name); });
  INTARSIA_CHECK(std::ranges::adjacent_find(table, [](const OpInfo& a, const OpInfo& b) {
                   return a.domain == b.domain && a.name == b.name;
                 }) == table.end());
  return table;
}

}  // namespace

std::span<const OpInfo> all_ops() {
  static const std::vector<OpInfo> table = build_table();
  return table;
}

const OpInfo* find_op(std::string_view domain, std::string_view name) {
  if (domain == "ai.onnx") domain = "";
  std::span<const OpInfo> table = all_ops();
  auto at = std::ranges::lower_bound(table, std::tie(domain, name), {},
                                     [](const OpInfo& row) { return std::tie(row.domain, row.name); });
  return at != table.end() && at->domain == domain && at->name == name ? &*at : nullptr;
}

const OpInfo* find_op(const Node& node) {
  const bool too_old = node.domain.empty() && node.version < oldest_known_opset;
  return too_old ? nullptr : find_op(node.domain, node.op);
}

}  // namespace intarsia
