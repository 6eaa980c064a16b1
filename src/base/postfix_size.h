// Expressions of sizes in postfix order, as files keep them: "2*seq+1" is 2, seq, *, 1, +.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/dim.h"
#include "base/result.h"

namespace intarsia {

/// View of an expression. `ops` are SizePart::Kinds; `operands` are the values of its numbers and the numbers
/// of its symbols, in their order.
struct PostfixView {
  std::span<const uint8_t> ops;
  std::span<const int64_t> operands;
};

struct PostfixSize {
  std::vector<uint8_t> ops;
  std::vector<int64_t> operands;
  PostfixView view() const { return {ops, operands}; }
  bool operator==(const PostfixSize&) const = default;
};

/// Largest magnitude of a number in an expression, and of all results.
inline constexpr int64_t max_size_value = int64_t{1} << 62;

/// Returns the parts of a size that is known. `number_of` tells the number of a symbol.
PostfixSize to_postfix(const Dim& size, const std::function<int64_t(const std::string& symbol)>& number_of);

/// Returns the size that a verified expression is.
Dim to_dim(const PostfixView& size, const std::function<std::string(int64_t number)>& symbol_of);

/// Checks an expression of untrusted origin: it is one value, not too deep, and its symbols exist.
Status verify_postfix(const PostfixView& size, size_t symbols);

/// Returns the value of a verified expression. Errors: a result is beyond `limit` in magnitude, or a divisor
/// is not positive.
Result<int64_t> evaluate_postfix(const PostfixView& size, std::span<const int64_t> symbols,
                                 int64_t limit = max_size_value);

}  // namespace intarsia
