#include "emit_c/greatest_bytes.h"

#include <algorithm>
#include <cmath>

#include "base/postfix_size.h"

namespace intarsia {

std::optional<GreatestBytes> find_greatest(const Dim& bytes, const std::vector<CSymbol>& symbols) {
  constexpr int64_t most_points = 1 << 16;
  std::vector<const CSymbol*> used;
  for (const std::string& name : bytes.symbols()) {
    const auto symbol = std::ranges::find(symbols, name, &CSymbol::name);
    if (symbol == symbols.end()) return std::nullopt;
    used.push_back(&*symbol);
  }
  if (!bytes.is_known()) return std::nullopt;
  const PostfixSize postfix = to_postfix(bytes, [&](const std::string& name) {
    return std::ranges::find(used, name, &CSymbol::name) - used.begin();
  });
  if (!verify_postfix(postfix.view(), used.size())) return std::nullopt;
  GreatestBytes greatest;
  std::vector<int64_t> steps, sizes;
  int64_t left = most_points;
  for (size_t i = 0; i < used.size(); ++i) {
    // Those that are left share the points.
    const auto share = static_cast<int64_t>(std::pow(left, 1.0 / static_cast<double>(used.size() - i)) + 0.5);
    const int64_t range = used[i]->max - used[i]->min;
    steps.push_back(range / share + 1);
    left = std::max<int64_t>(left / (range / steps.back() + 1), 1);
    greatest.is_of_all = greatest.is_of_all && steps.back() == 1;
    sizes.push_back(used[i]->max);
  }
  for (;;) {
    const Result<int64_t> value = evaluate_postfix(postfix.view(), sizes);
    if (!value) return std::nullopt;
    greatest.bytes = std::max(greatest.bytes, static_cast<uint64_t>(std::max<int64_t>(*value, 0)));
    size_t i = 0;
    while (i < sizes.size() && sizes[i] - steps[i] < used[i]->min) sizes[i] = used[i]->max, ++i;
    if (i == sizes.size()) return greatest;
    sizes[i] -= steps[i];
  }
}

}  // namespace intarsia
