#include "base/einsum_equation.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

namespace intarsia {
namespace {

constexpr std::string_view ellipsis = "...";

Result<EinsumLabels> parse_term(std::string_view text, size_t rank) {
  const size_t dots = text.find(ellipsis);
  const bool has_dots = dots != std::string_view::npos;
  const size_t letters = text.size() - (has_dots ? ellipsis.size() : 0);
  if (has_dots ? letters > rank : letters != rank)
    return fail("the term '{}' for an input of rank {}", text, rank);
  EinsumLabels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == dots) {
      for (size_t k = rank - letters; k > 0; --k) labels.push_back(-static_cast<int>(k));
      i += ellipsis.size() - 1;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(text[i]);
    } else {
      return fail("'{}' in the term '{}'", text[i], text);
    }
  }
  return labels;
}

}  // namespace

Result<EinsumEquation> parse_einsum(std::string text, std::span<const size_t> ranks) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  EinsumEquation equation;
  std::map<int, int> uses;  // of each label, in the terms
  for (size_t i = 0; i < ranks.size(); ++i) {
    const size_t comma = left.find(',');
    const bool is_last = i + 1 == ranks.size();
    if ((comma == std::string_view::npos) != is_last)
      return fail("'{}' does not have the {} terms of the inputs", text, ranks.size());
    equation.terms.push_back(TRY(parse_term(left.substr(0, comma), ranks[i])));
    for (int label : equation.terms.back()) ++uses[label];
    if (!is_last) left.remove_prefix(comma + 1);
  }
  if (arrow == std::string::npos) {
    for (const auto& [label, count] : uses)
      if (label < 0 || count == 1) equation.result.push_back(label);
    return equation;
  }
  const std::string_view right = std::string_view(text).substr(arrow + 2);
  const auto dots =
      static_cast<size_t>(std::ranges::count_if(uses, [](const auto& use) { return use.first < 0; }));
  const bool has_dots = right.find(ellipsis) != std::string_view::npos;
  equation.result = TRY(parse_term(right, has_dots ? right.size() - ellipsis.size() + dots : right.size()));
  for (int label : equation.result) {
    if (!uses.contains(label)) return fail("'{}': a label of the result is not in any term", text);
    if (std::ranges::count(equation.result, label) > 1)
      return fail("'{}' repeats a label of the result", text);
  }
  return equation;
}

}  // namespace intarsia
