#include "compile/size_table.h"

#include <algorithm>

#include "base/postfix_size.h"

namespace intarsia {

SizeTable::SizeTable(const Graph& graph, fbs::FunctionT& function) : function_(function) {
  for (const OpenSize& size : graph.open_sizes) {
    auto symbol = std::make_unique<fbs::SymbolT>();
    symbol->name = size.name;
    symbol->min = static_cast<uint64_t>(size.range.min);
    symbol->max = static_cast<uint64_t>(size.range.max);
    symbol->tuned.assign(size.tuned.begin(), size.tuned.end());
    numbers_[size.name] = static_cast<int64_t>(function.symbols.size());
    tuned_[size.name] = size.tuned_size();
    function.symbols.push_back(std::move(symbol));
  }
}

bool SizeTable::is_told(const Dim& size) const {
  const auto is_input = [&](const std::string& symbol) { return numbers_.contains(symbol); };
  return size.is_known() && std::ranges::all_of(size.symbols(), is_input);
}

bool SizeTable::are_told(const ValueType& type) const {
  return type.shape && std::ranges::all_of(*type.shape, [&](const Dim& size) { return is_told(size); });
}

/// Adds an expression and returns one more than its number; 0 for a number and what is unknown.
uint32_t SizeTable::add(const Dim& size) {
  if (size.is_number() || !is_told(size)) return 0;
  auto entry = std::make_unique<fbs::SizeT>();
  entry->text = size.print();
  const auto [known, is_new] =
      known_.try_emplace(entry->text, static_cast<uint32_t>(function_.sizes.size() + 1));
  if (!is_new) return known->second;
  PostfixSize postfix = to_postfix(size, [&](const std::string& symbol) { return numbers_.at(symbol); });
  for (uint8_t op : postfix.ops) entry->ops.push_back(static_cast<fbs::SizeOp>(op));
  entry->operands = std::move(postfix.operands);
  function_.sizes.push_back(std::move(entry));
  return known->second;
}

void SizeTable::describe(const ValueType& type, fbs::ValueT& value) {
  if (numbers_.empty() || !type.shape || type.fixed_shape()) return;
  for (const Dim& size : *type.shape) value.sizes.push_back(add(size));
}

void SizeTable::set_tuned_dims(const ValueType& type, fbs::ValueT& input) const {
  if (numbers_.empty() || !type.shape || type.fixed_shape()) return;
  for (const Dim& size : *type.shape) input.tuned_dims.push_back(size.substitute(tuned_).number());
}

}  // namespace intarsia
