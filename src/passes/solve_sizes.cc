#include "passes/solve_sizes.h"

#include <fmt/ranges.h>

#include "graph/text_words.h"

namespace intarsia {
namespace {

using Symbols = std::map<std::string, SolvedSize>;

Dim substitute(const Dim& size, const Symbols& symbols) {
  std::map<std::string, Dim> values;
  for (const auto& [symbol, solved] : symbols) values[symbol] = solved.value;
  return size.substitute(values);
}

std::string print_option(const GivenSize& given) {
  return fmt::format("--shape {}={}", given.input, given.shape);
}

std::string print_size(const Dim& size) { return size.print(print_word); }

/// Explains the symbols of a size: "past = 5 (--shape past=1x5) and seq = 1 (no shape determines it)".
std::string print_symbols(const Dim& size, const Symbols& symbols) {
  std::vector<std::string> parts;
  for (const std::string& symbol : size.symbols()) {
    const SolvedSize& solved = symbols.at(symbol);
    parts.push_back(
        fmt::format("{} = {} ({})", print_word(symbol), solved.value,
                    solved.from == nullptr ? "no shape determines it" : print_option(*solved.from)));
  }
  return fmt::format("{}", fmt::join(parts, " and "));
}

Result<int64_t> solve(const GivenSize& given, const LinearSize& size) {
  const __int128 difference = static_cast<__int128>(given.number) - size.rest;
  if (difference % size.factor != 0 || difference / size.factor < 0 ||
      difference / size.factor > std::numeric_limits<int64_t>::max())
    return fail("{}: size {} is {} in the model, and no size {} makes that {}", print_option(given),
                given.axis, print_size(given.size), print_word(size.symbol), given.number);
  return static_cast<int64_t>(difference / size.factor);
}

}  // namespace

Result<Symbols> solve_sizes(const std::vector<GivenSize>& given) {
  Symbols symbols;
  for (const GivenSize& one : given) {
    if (const std::string* symbol = one.size.symbol())
      symbols.try_emplace(*symbol, SolvedSize{one.number, &one});
  }
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const GivenSize& one : given) {
      const std::optional<LinearSize> open = substitute(one.size, symbols).linear();
      if (!open) continue;
      symbols[open->symbol] = {TRY(solve(one, *open)), &one};
      is_new = true;
    }
  }
  return symbols;
}

Status check_sizes(const std::vector<GivenSize>& given, const Symbols& symbols) {
  for (const GivenSize& one : given) {
    const Dim size = substitute(one.size, symbols);
    if (size == one.number) continue;
    if (const std::string* symbol = one.size.symbol())
      return fail("{}: '{}' is {} and {} at once", print_option(one), *symbol, symbols.at(*symbol).value,
                  one.number);
    return fail("{}: size {} is {} in the model: {} with {}, not {}; give shapes that agree",
                print_option(one), one.axis, print_size(one.size),
                size.is_number() ? std::to_string(size.number()) : "not a number",
                print_symbols(one.size, symbols), one.number);
  }
  return {};
}

}  // namespace intarsia
