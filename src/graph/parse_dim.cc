#include "graph/parse_dim.h"

#include <charconv>

namespace intarsia {
namespace {

constexpr int max_depth = 16;  // limit on nested parentheses, so that parsing damaged text ends

using Function = Dim (*)(const Dim&, const Dim&);

Function find_function(std::string_view name) {
  if (name == "floor_div") return floor_div;
  if (name == "min") return smaller_of;
  if (name == "max") return larger_of;
  return nullptr;
}

Result<Dim> parse_sum(TextScanner& scanner, int depth);

/// Parses the arguments "(a,b)" of a call.
Result<Dim> parse_call(TextScanner& scanner, Function function, int depth) {
  TRY(scanner.expect("("));
  const Dim a = TRY(parse_sum(scanner, depth + 1));
  TRY(scanner.expect(","));
  const Dim b = TRY(parse_sum(scanner, depth + 1));
  TRY(scanner.expect(")"));
  return function(a, b);
}

Result<Dim> parse_factor(TextScanner& scanner, int depth) {
  if (depth < max_depth && scanner.accept("(")) {
    const Dim inner = TRY(parse_sum(scanner, depth + 1));
    TRY(scanner.expect(")"));
    return inner;
  }
  if (scanner.at("\"")) {
    std::string symbol = TRY(scanner.quoted());
    if (symbol.empty()) return scanner.error("a size's symbol is empty; an unknown size is ?");
    return Dim::named(std::move(symbol));
  }
  const size_t start = scanner.position();
  const std::string_view text = scanner.plain("_");
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  const Function function = find_function(text);
  if (function != nullptr && scanner.at("(") && depth < max_depth)
    return parse_call(scanner, function, depth);
  if (!text.empty() && !(text[0] >= '0' && text[0] <= '9')) return Dim::named(std::string(text));
  scanner.go_back(start);
  return scanner.want("a size (3), a symbol (batch), an expression (2*batch+1) or ?");
}

Result<Dim> parse_product(TextScanner& scanner, int depth) {
  Dim result = TRY(parse_factor(scanner, depth));
  while (true) {
    if (scanner.accept("*"))
      result = result * TRY(parse_factor(scanner, depth));
    else if (scanner.accept("//"))
      result = floor_div(result, TRY(parse_factor(scanner, depth)));
    else
      return result;
  }
}

Result<Dim> parse_sum(TextScanner& scanner, int depth) {
  Dim result =
      scanner.accept("-") ? 0 - TRY(parse_product(scanner, depth)) : TRY(parse_product(scanner, depth));
  while (true) {
    if (scanner.accept("+"))
      result = result + TRY(parse_product(scanner, depth));
    else if (scanner.accept("-"))
      result = result - TRY(parse_product(scanner, depth));
    else
      return result;
  }
}

}  // namespace

Result<Dim> parse_expression(TextScanner& scanner) {
  if (scanner.accept("?")) return Dim::unknown();
  const size_t start = scanner.position();
  Dim dim = TRY(parse_sum(scanner, 0));
  if (dim.is_known()) return dim;
  scanner.go_back(start);
  return scanner.error("the expression is not defined or too large");
}

Result<Dim> parse_dim(TextScanner& scanner) {
  const size_t start = scanner.position();
  Dim dim = TRY(parse_expression(scanner));
  if (!dim.is_number() || dim.number() >= 0) return dim;
  scanner.go_back(start);
  return scanner.error("the size {} is negative", dim.number());
}

}  // namespace intarsia
