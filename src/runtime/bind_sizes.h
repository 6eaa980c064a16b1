// Binder of a run's open sizes: the shapes of the inputs tell them.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/shape.h"
#include "device/executable.h"
#include "program/program.h"

namespace intarsia {

class SizeBinder {
 public:
  /// Makes a binder of the function's symbols, which must outlive it.
  explicit SizeBinder(const fbs::FunctionT& function);

  bool has_symbols() const { return !sizes_.empty(); }
  /// Returns the sizes of the current run, at the same place in all runs.
  OpenSizes sizes() const { return {names_, sizes_}; }
  /// Forgets the sizes of the last run.
  void start();
  /// Takes the sizes that an input tells. Error: one is out of its range.
  Status tell(const fbs::ValueT& input, const Shape& shape);
  /// Checks a shape against the expressions, once all inputs have told. `what`: "input" or "output".
  Status check(std::string_view what, const fbs::ValueT& value, const Shape& shape) const;
  /// Returns the size of an axis that has an expression, once all inputs have told.
  Result<int64_t> compute(std::string_view what, const fbs::ValueT& value, size_t axis) const;
  /// Prints the sizes and what told them: "batch = 8 (input 'x')".
  std::string print_sizes() const;

 private:
  static constexpr int64_t unknown = -1;
  const fbs::FunctionT& function_;
  std::vector<std::string> names_;           // by symbol
  std::vector<int64_t> sizes_;               // by symbol
  std::vector<const fbs::ValueT*> told_by_;  // input that told it, by symbol
};

}  // namespace intarsia
