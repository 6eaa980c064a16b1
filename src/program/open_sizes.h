// Sizes of a function that are open until it runs: expressions over symbols, which the inputs' shapes tell.
#pragma once

#include <span>

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

/// Checks the symbols, the expressions and their use by values: each symbol is a size of some input, no
/// expression reads what is not there, and only unknown sizes have expressions.
Status verify_open_sizes(const fbs::FunctionT& function);

/// Returns the symbol that a verified expression is; nullopt if it is another expression.
std::optional<uint32_t> symbol_of(const fbs::SizeT& size);

/// Returns the number that a verified expression has with these symbols. Errors: it is beyond 62 bits, or
/// divides by zero.
Result<int64_t> evaluate_size(const fbs::SizeT& size, std::span<const int64_t> symbols);

/// Returns the shape of a value with these symbols; -1 for sizes that do not follow from them. Errors are
/// those of evaluate_size.
Result<std::vector<int64_t>> shape_at(const fbs::FunctionT& function, const fbs::ValueT& value,
                                      std::span<const int64_t> symbols);

/// Returns the sizes of a value over the symbols' names; unknown for those that do not follow from them.
SymbolicShape sizes_of_value(const fbs::FunctionT& function, const fbs::ValueT& value);

/// Returns the number of each symbol that memory is counted with (SizeRange::counted).
std::vector<int64_t> counted_symbols(const fbs::FunctionT& function);

/// Returns the expression of an axis for people: "past+1"; empty if it has none.
const std::string& text_of_size(const fbs::FunctionT& function, const fbs::ValueT& value, size_t axis);

}  // namespace intarsia
