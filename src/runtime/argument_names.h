// Names of a function's inputs or outputs, to find what a caller gives.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

/// Finder of arguments by name. Finding allocates nothing, except for an error.
class ArgumentNames {
 public:
  /// Makes a finder among these values of a function, which must outlive it. `what`: "input" or "output".
  ArgumentNames(std::string_view what, const fbs::FunctionT& function, std::span<const uint32_t> values);

  /// Forgets what was given.
  void start();
  /// Finds the position of a name, which is usually `guess`, the caller's position, and notes that it is
  /// given. Errors: there is no such name, or it is given twice.
  Result<size_t> find(std::string_view name, size_t guess);
  /// Checks that all are given. The error names those that are not.
  Status check_all_given() const;

  std::string_view what() const { return what_; }
  size_t size() const { return values_.size(); }
  uint32_t value(size_t at) const { return values_[at]; }
  bool is_given(size_t at) const { return given_[at]; }
  size_t given_count() const { return given_count_; }

 private:
  std::string_view name(size_t at) const { return function_.values[values_[at]]->name; }

  std::string_view what_;
  const fbs::FunctionT& function_;
  std::span<const uint32_t> values_;
  std::unordered_map<std::string_view, size_t> by_name_;
  std::vector<bool> given_;
  size_t given_count_ = 0;
};

}  // namespace intarsia
