#include "runtime/find_function.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace intarsia {
namespace {

Result<size_t> find_name(const std::vector<std::string_view>& names, std::string_view name) {
  if (name.empty() && names.size() == 1) return size_t{0};
  if (const auto at = std::ranges::find(names, name); at != names.end())
    return static_cast<size_t>(at - names.begin());
  if (name.empty()) return fail("name one of the program's functions: {}", fmt::join(names, ", "));
  return fail("no function '{}'; the program has: {}", name, fmt::join(names, ", "));
}

}  // namespace

Result<size_t> find_function(const fbs::ProgramT& program, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& function : program.functions) names.push_back(function->name);
  return find_name(names, name);
}

Result<size_t> find_function(const BoundProgram& program, std::string_view name) {
  std::vector<std::string_view> names;
  for (const BoundFunction& bound : program.functions) names.push_back(bound.function->name);
  return find_name(names, name);
}

}  // namespace intarsia
