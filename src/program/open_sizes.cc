#include "program/open_sizes.h"

#include <algorithm>
#include <set>

#include "base/postfix_size.h"
#include "base/requested_shape.h"

namespace intarsia {
namespace {

constexpr size_t max_symbols = 1024;  // limit for damaged files

PostfixView view_of(const fbs::SizeT& size) {
  return {{reinterpret_cast<const uint8_t*>(size.ops.data()), size.ops.size()}, size.operands};
}

Status verify_symbol(const fbs::SymbolT& symbol) {
  if (symbol.name.empty()) return fail("no name");
  if (symbol.min > symbol.max || symbol.max > SizeRange::limit)
    return fail("a range of {} to {}", symbol.min, symbol.max);
  for (uint64_t tuned : symbol.tuned)
    if (tuned < symbol.min || tuned > symbol.max) return fail("size {} out of its range", tuned);
  return {};
}

Status verify_value(const fbs::FunctionT& function, const fbs::ValueT& value) {
  if (!value.sizes.empty() && value.sizes.size() != value.dims.size())
    return fail("{} expressions for {} sizes", value.sizes.size(), value.dims.size());
  for (size_t axis = 0; axis < value.sizes.size(); ++axis) {
    if (value.sizes[axis] == 0) continue;
    if (value.sizes[axis] > function.sizes.size())
      return fail("expression {} of {}", value.sizes[axis], function.sizes.size());
    if (value.dims[axis] != -1) return fail("an expression for size {}, which is {}", axis, value.dims[axis]);
  }
  if (value.tuned_dims.empty()) return {};
  if (value.storage != fbs::Storage::input || value.rank_unknown)
    return fail("sizes that it was measured with, though it is not an input of known rank");
  bool agrees = value.tuned_dims.size() == value.dims.size();
  for (size_t axis = 0; agrees && axis < value.dims.size(); ++axis)
    agrees =
        value.tuned_dims[axis] >= 0 && (value.dims[axis] < 0 || value.dims[axis] == value.tuned_dims[axis]);
  if (!agrees) return fail("sizes that it was measured with, which it cannot have");
  TRY(checked_elements(value.tuned_dims));
  return {};
}

/// Checks that the shape of some input tells each symbol.
Status verify_symbols_are_told(const fbs::FunctionT& function) {
  std::vector<bool> told(function.symbols.size(), false);
  for (uint32_t input : function.inputs) {
    if (input >= function.values.size()) continue;
    for (uint32_t size : function.values[input]->sizes) {
      const std::optional<uint32_t> symbol = size == 0 ? std::nullopt : symbol_of(*function.sizes[size - 1]);
      if (symbol) told[*symbol] = true;
    }
  }
  const auto missing = std::ranges::find(told, false);
  if (missing == told.end()) return {};
  return fail("no input has the size '{}'",
              function.symbols[static_cast<size_t>(missing - told.begin())]->name);
}

}  // namespace

Status verify_open_sizes(const fbs::FunctionT& function) {
  if (function.symbols.size() > max_symbols) return fail("{} symbols", function.symbols.size());
  std::set<std::string_view> names;
  for (const auto& symbol : function.symbols) {
    TRY(with_context(verify_symbol(*symbol), "symbol '{}'", symbol->name));
    if (!names.insert(symbol->name).second) return fail("two symbols '{}'", symbol->name);
  }
  if (function.symbols.empty() && !function.sizes.empty())
    return fail("{} expressions without symbols", function.sizes.size());
  for (size_t i = 0; i < function.sizes.size(); ++i)
    TRY(with_context(verify_postfix(view_of(*function.sizes[i]), function.symbols.size()), "size {}", i));
  for (const auto& value : function.values)
    TRY(with_context(verify_value(function, *value), "value '{}'", value->name));
  return verify_symbols_are_told(function);
}

std::optional<uint32_t> symbol_of(const fbs::SizeT& size) {
  const bool is_symbol = size.ops.size() == 1 && size.ops[0] == fbs::SizeOp::symbol;
  return is_symbol ? std::optional(static_cast<uint32_t>(size.operands[0])) : std::nullopt;
}

Result<int64_t> evaluate_size(const fbs::SizeT& size, std::span<const int64_t> symbols) {
  return with_context(evaluate_postfix(view_of(size), symbols), "{}", size.text);
}

Result<std::vector<int64_t>> shape_at(const fbs::FunctionT& function, const fbs::ValueT& value,
                                      std::span<const int64_t> symbols) {
  std::vector<int64_t> shape = value.dims;
  for (size_t axis = 0; axis < value.sizes.size(); ++axis)
    if (value.sizes[axis] != 0)
      shape[axis] = TRY(evaluate_size(*function.sizes[value.sizes[axis] - 1], symbols));
  return shape;
}

SymbolicShape sizes_of_value(const fbs::FunctionT& function, const fbs::ValueT& value) {
  const auto name_of = [&](int64_t symbol) { return function.symbols[static_cast<size_t>(symbol)]->name; };
  SymbolicShape sizes;
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    const uint32_t expression = value.sizes.empty() ? 0 : value.sizes[axis];
    sizes.push_back(value.dims[axis] >= 0 ? Dim(value.dims[axis])
                    : expression == 0     ? Dim::unknown()
                                          : to_dim(view_of(*function.sizes[expression - 1]), name_of));
  }
  return sizes;
}

std::vector<int64_t> counted_symbols(const fbs::FunctionT& function) {
  std::vector<int64_t> numbers;
  for (const auto& symbol : function.symbols) {
    const SizeRange range{static_cast<int64_t>(symbol->min), static_cast<int64_t>(symbol->max)};
    numbers.push_back(range.counted({symbol->tuned.begin(), symbol->tuned.end()}));
  }
  return numbers;
}

const std::string& text_of_size(const fbs::FunctionT& function, const fbs::ValueT& value, size_t axis) {
  static const std::string none;
  if (axis >= value.sizes.size() || value.sizes[axis] == 0) return none;
  return function.sizes[value.sizes[axis] - 1]->text;
}

}  // namespace intarsia
