#include "runtime/argument_names.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace intarsia {

ArgumentNames::ArgumentNames(std::string_view what, const fbs::FunctionT& function,
                             std::span<const uint32_t> values)
    : what_(what), function_(function), values_(values), given_(values.size(), false) {
  for (size_t i = 0; i < values.size(); ++i) by_name_[name(i)] = i;
}

void ArgumentNames::start() {
  std::fill(given_.begin(), given_.end(), false);
  given_count_ = 0;
}

Result<size_t> ArgumentNames::find(std::string_view wanted, size_t guess) {
  size_t at = guess;
  if (at >= values_.size() || name(at) != wanted) {
    const auto known = by_name_.find(wanted);
    if (known == by_name_.end()) {
      std::vector<std::string_view> names;
      for (size_t i = 0; i < values_.size(); ++i) names.push_back(name(i));
      return fail("no {} '{}'; the function has: {}", what_, wanted, fmt::join(names, ", "));
    }
    at = known->second;
  }
  if (given_[at]) return fail("{} '{}' is given twice", what_, wanted);
  given_[at] = true;
  ++given_count_;
  return at;
}

Status ArgumentNames::check_all_given() const {
  if (given_count_ == values_.size()) return {};
  std::vector<std::string_view> missing;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!given_[i]) missing.push_back(name(i));
  }
  return fail("missing {}{} {}", what_, missing.size() > 1 ? "s" : "", fmt::join(missing, ", "));
}

}  // namespace intarsia
