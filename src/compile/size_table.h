// Expressions of a program's open sizes.
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"
#include "program/program.h"

namespace intarsia {

/// Writer of the symbols and expressions of one function, each once.
class SizeTable {
 public:
  /// Adds the open sizes of the graph to the function as its symbols.
  SizeTable(const Graph& graph, fbs::FunctionT& function);

  /// Checks whether all sizes of the value are known once the inputs' are.
  bool are_told(const ValueType& type) const;
  /// Sets the expressions of the value's sizes; none for sizes that depend on data.
  void describe(const ValueType& type, fbs::ValueT& value);
  /// Sets the dims that an input is measured with, if some are open.
  void set_tuned_dims(const ValueType& type, fbs::ValueT& input) const;

 private:
  bool is_told(const Dim& size) const;
  uint32_t add(const Dim& size);

  fbs::FunctionT& function_;
  std::map<std::string, int64_t> numbers_;  // of the symbols
  std::map<std::string, Dim> tuned_;        // numbers to measure with, by symbol
  std::map<std::string, uint32_t> known_;   // one more than the number of an expression, by its text
};

}  // namespace intarsia
