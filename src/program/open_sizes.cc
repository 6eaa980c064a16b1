#include "program/open_sizes.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/requested_shape.h"

namespace intarsia {
namespace {

using fbs::SizeOp;

// Limits for damaged files; sizes of models are small expressions.
constexpr size_t max_ops = 1024, max_depth = 64, max_symbols = 1024;
constexpr int64_t max_size = int64_t{1} << 62;

bool has_operand(SizeOp op) { return op == SizeOp::number || op == SizeOp::symbol; }

Status verify_size(const fbs::SizeT& size, size_t symbols) {
  if (size.ops.size() > max_ops) return fail("an expression of {} parts", size.ops.size());
  size_t depth = 0, operand = 0;
  for (SizeOp op : size.ops) {
    if (op < SizeOp::MIN || op > SizeOp::MAX) return fail("unknown part {}", static_cast<int>(op));
    if (!has_operand(op)) {
      if (depth < 2) return fail("an expression that lacks operands");
      --depth;
      continue;
    }
    if (operand == size.operands.size()) return fail("an expression that lacks a number");
    const int64_t number = size.operands[operand++];
    if (op == SizeOp::symbol && (number < 0 || static_cast<uint64_t>(number) >= symbols))
      return fail("symbol {} of {}", number, symbols);
    if (number > max_size || number < -max_size) return fail("the number {}", number);
    if (++depth > max_depth) return fail("an expression that is {} deep", depth);
  }
  if (depth != 1 || operand != size.operands.size()) return fail("an expression that is not one value");
  return {};
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
  for (size_t i = 0; i < function.sizes.size(); ++i)
    TRY(with_context(verify_size(*function.sizes[i], function.symbols.size()), "size {}", i));
  for (const auto& value : function.values)
    TRY(with_context(verify_value(function, *value), "value '{}'", value->name));
  return verify_symbols_are_told(function);
}

std::optional<uint32_t> symbol_of(const fbs::SizeT& size) {
  const bool is_symbol = size.ops.size() == 1 && size.ops[0] == SizeOp::symbol;
  return is_symbol ? std::optional(static_cast<uint32_t>(size.operands[0])) : std::nullopt;
}

Result<int64_t> evaluate_size(const fbs::SizeT& size, std::span<const int64_t> symbols) {
  std::array<int64_t, max_depth> stack;
  size_t depth = 0, operand = 0;
  bool is_large = false;
  for (SizeOp op : size.ops) {
    if (has_operand(op)) {
      const int64_t number = size.operands[operand++];
      stack[depth++] = op == SizeOp::number ? number : symbols[static_cast<size_t>(number)];
      continue;
    }
    const int64_t b = stack[--depth];
    int64_t& a = stack[depth - 1];
    switch (op) {
      case SizeOp::add:
        is_large |= __builtin_add_overflow(a, b, &a);
        break;
      case SizeOp::multiply:
        is_large |= __builtin_mul_overflow(a, b, &a);
        break;
      case SizeOp::floor_div:
        if (b <= 0) return fail("{} is a division by {}", size.text, b);
        a = a / b - (a % b < 0 ? 1 : 0);
        break;
      case SizeOp::smaller:
        a = std::min(a, b);
        break;
      default:
        a = std::max(a, b);
    }
    is_large |= a > max_size || a < -max_size;
    if (is_large) return fail("{} is too large", size.text);
  }
  return stack[0];
}

const std::string& text_of_size(const fbs::FunctionT& function, const fbs::ValueT& value, size_t axis) {
  static const std::string none;
  if (axis >= value.sizes.size() || value.sizes[axis] == 0) return none;
  return function.sizes[value.sizes[axis] - 1]->text;
}

}  // namespace intarsia
