#include "base/postfix_size.h"

#include <algorithm>
#include <array>

namespace intarsia {
namespace {

using Kind = SizePart::Kind;

// Limits for damaged files; sizes of models are small expressions.
constexpr size_t max_ops = 1024, max_depth = 64;

bool has_operand(uint8_t op) {
  return op == static_cast<uint8_t>(Kind::number) || op == static_cast<uint8_t>(Kind::symbol);
}

/// Computes a = a op b. Returns false where the result needs more than 64 bits, or b divides nothing.
bool combine(Kind kind, int64_t& a, int64_t b) {
  switch (kind) {
    case Kind::add:
      return !__builtin_add_overflow(a, b, &a);
    case Kind::multiply:
      return !__builtin_mul_overflow(a, b, &a);
    case Kind::floor_div:
      if (b <= 0) return false;
      a = a / b - (a % b < 0 ? 1 : 0);
      return true;
    case Kind::smaller:
      a = std::min(a, b);
      return true;
    default:
      a = std::max(a, b);
      return true;
  }
}

/// Computes a = a op b.
void combine(Kind kind, Dim& a, const Dim& b) {
  a = kind == Kind::add         ? a + b
      : kind == Kind::multiply  ? a * b
      : kind == Kind::floor_div ? floor_div(a, b)
      : kind == Kind::smaller   ? smaller_of(a, b)
                                : larger_of(a, b);
}

}  // namespace

PostfixSize to_postfix(const Dim& size, const std::function<int64_t(const std::string& symbol)>& number_of) {
  PostfixSize postfix;
  for (const SizePart& part : size.postfix()) {
    postfix.ops.push_back(static_cast<uint8_t>(part.kind));
    if (part.kind == Kind::number) postfix.operands.push_back(part.number);
    if (part.kind == Kind::symbol) postfix.operands.push_back(number_of(part.symbol));
  }
  return postfix;
}

Dim to_dim(const PostfixView& size, const std::function<std::string(int64_t number)>& symbol_of) {
  std::vector<Dim> stack;
  auto operand = size.operands.begin();
  for (const uint8_t op : size.ops) {
    const auto kind = static_cast<Kind>(op);
    if (has_operand(op)) {
      const int64_t number = *operand++;
      stack.push_back(kind == Kind::symbol ? Dim::named(symbol_of(number)) : Dim(number));
      continue;
    }
    const Dim b = std::move(stack.back());
    stack.pop_back();
    combine(kind, stack.back(), b);
  }
  return stack.back();
}

Status verify_postfix(const PostfixView& size, size_t symbols) {
  if (size.ops.size() > max_ops) return fail("an expression of {} parts", size.ops.size());
  size_t depth = 0, operand = 0;
  for (uint8_t op : size.ops) {
    if (op > static_cast<uint8_t>(Kind::larger)) return fail("unknown part {}", op);
    if (!has_operand(op)) {
      if (depth < 2) return fail("an expression that lacks operands");
      --depth;
      continue;
    }
    if (operand == size.operands.size()) return fail("an expression that lacks a number");
    const int64_t number = size.operands[operand++];
    const bool is_symbol = op == static_cast<uint8_t>(Kind::symbol);
    if (is_symbol && (number < 0 || static_cast<uint64_t>(number) >= symbols))
      return fail("symbol {} of {}", number, symbols);
    if (number > max_size_value || number < -max_size_value) return fail("the number {}", number);
    if (++depth > max_depth) return fail("an expression that is {} deep", depth);
  }
  if (depth != 1 || operand != size.operands.size()) return fail("an expression that is not one value");
  return {};
}

Result<int64_t> evaluate_postfix(const PostfixView& size, std::span<const int64_t> symbols, int64_t limit) {
  std::array<int64_t, max_depth> stack;
  size_t depth = 0, operand = 0;
  for (uint8_t op : size.ops) {
    if (has_operand(op)) {
      const int64_t number = size.operands[operand++];
      const bool is_symbol = op == static_cast<uint8_t>(Kind::symbol);
      stack[depth++] = is_symbol ? symbols[static_cast<size_t>(number)] : number;
    } else {
      const int64_t b = stack[--depth];
      if (op == static_cast<uint8_t>(Kind::floor_div) && b <= 0) return fail("a division by {}", b);
      if (!combine(static_cast<Kind>(op), stack[depth - 1], b)) return fail("more than 64 bits");
    }
    const int64_t result = stack[depth - 1];
    if (result > limit || result < -limit) return fail("{} is more than {}", result, limit);
  }
  return stack[0];
}

}  // namespace intarsia
