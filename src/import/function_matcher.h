// Matching of patterns in the body of a function: the nodes that compute a tensor, and their operands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tensorflow/messages.h"

namespace intarsia {

/// An argument of the function, or an output of one of its nodes; Identity nodes are skipped.
struct Term {
  int argument = -1;
  const tensorflow::NodeDef* node = nullptr;
  std::string output;  // output of the node: "output:1"
  bool operator==(const Term&) const = default;
  bool is_op(const char* op) const { return node != nullptr && node->op == op; }
};

class FunctionMatcher {
 public:
  explicit FunctionMatcher(const tensorflow::FunctionDef& function);

  size_t argument_count() const { return function_.signature.inputs.size(); }
  /// Returns the function's i-th result.
  Term result(size_t i) const;
  size_t result_count() const { return function_.signature.outputs.size(); }

  /// Returns an input of the term's node, not counting control edges; an empty term if there is none.
  Term input(const Term& term, size_t i) const;

  /// Returns the compile-time value of a term that is a constant of one element.
  std::optional<int64_t> integer(const Term& term) const;
  std::optional<double> number(const Term& term) const;
  std::optional<std::vector<int64_t>> integers(const Term& term) const;

  /// Returns the other operand of a commutative node with the operand `known`; an empty term if neither
  /// operand is `known`.
  Term other(const Term& term, const char* op, const Term& known) const;
  /// Returns the operand of a binary node whose operator is `operand_op`, with the other one.
  std::optional<std::pair<Term, Term>> operands(const Term& term, const char* op,
                                                const char* operand_op) const;

 private:
  Term resolve(const std::string& reference) const;

  const tensorflow::FunctionDef& function_;
  std::map<std::string, int> arguments_;
  std::map<std::string, const tensorflow::NodeDef*> nodes_;
};

}  // namespace intarsia
