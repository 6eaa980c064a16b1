// Kernels that a program in plain C calls, and what they say of their tensors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit_c/c_program.h"

namespace intarsia {

/// Returns the numbers of a call's form (kernel_calls.h). `names` has the variables of open sizes.
std::vector<std::string> form_of(const KernelCall& call, const std::map<std::string, std::string>& names);

/// Checks whether the form of a call is the same in all runs.
bool has_fixed_form(const KernelCall& call);

/// Kernels of all functions, each once.
class KernelTable {
 public:
  explicit KernelTable(const EmittedProgram& emitted);

  size_t number_of(const KernelCall& call) const { return numbers_.at(call.symbol); }

  /// Declares the kernels and the tensors of those of fixed size, and what runs them. `status_prefix` begins
  /// the names of error codes: "NET".
  std::string declare(const std::string& status_prefix) const;

  /// Writes what files of times say of all kernels.
  std::string describe_origin(const fbs::ProgramT& program) const;

 private:
  void add(const KernelCall& call);

  std::vector<const KernelCall*> calls_;
  std::map<std::string, size_t> numbers_;  // by symbol
  size_t most_arguments_ = 1, most_dimensions_ = 1, most_sizes_ = 1;
};

}  // namespace intarsia
