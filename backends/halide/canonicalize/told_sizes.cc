#include "backends/halide/canonicalize/told_sizes.h"

#include <algorithm>
#include <array>

#include "base/own_domain.h"
#include "graph/data_sizes.h"

namespace intarsia::halide {
namespace {

std::set<std::string> symbols_of(const Value& value) {
  std::set<std::string> symbols;
  if (!value.constant && value.type.shape)
    for (const Dim& size : *value.type.shape) symbols.merge(size.symbols());
  return symbols;
}

}  // namespace

bool is_counted(const Node& node) {
  constexpr auto ops =
      std::to_array<std::string_view>({"Compress", "NonMaxSuppression", "NonZero", "Unique"});
  constexpr auto own_ops =
      std::to_array<std::string_view>({"NonMaxSuppressionPlaces", "NonZeroRows", "UniqueInOrder"});
  if (node.domain == own_domain)
    return std::ranges::find(own_ops, node.op) != own_ops.end() && node.attributes.get_int("padded", 0) == 0;
  return (node.domain.empty() || node.domain == "ai.onnx") && std::ranges::find(ops, node.op) != ops.end();
}

std::set<std::string> told_sizes(const Graph& region) {
  std::set<std::string> told;
  for (const OpenSize& size : region.open_sizes) told.insert(size.name);
  for (ValueId input : region.inputs) {
    const auto& shape = region.value(input).type.shape;
    if (!shape) continue;
    for (const Dim& size : *shape)
      if (const std::optional<LinearSize> linear = size.linear(); linear && linear->factor > 0)
        told.insert(linear->symbol);
  }
  return told;
}

std::string find_untold_size(const Graph& region) {
  const std::set<std::string> told = told_sizes(region);
  for (const Value& value : region.values) {
    if (value.producer != no_node && is_counted(region.node(value.producer))) continue;
    for (const std::string& symbol : symbols_of(value))
      if (!told.contains(symbol)) return symbol;
  }
  return {};
}

std::string find_data_size(const Graph& region) {
  for (const Value& value : region.values)
    for (const std::string& symbol : symbols_of(value))
      if (depends_on_data(region, Dim::named(symbol))) return symbol;
  return {};
}

}  // namespace intarsia::halide
