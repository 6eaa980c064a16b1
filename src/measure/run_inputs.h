// Inputs for the runs of a check, and these runs.
#pragma once

#include <span>
#include <vector>

#include "program/program.h"
#include "runtime/session.h"

namespace intarsia {

/// Fills all inputs of a function with the values that depend on their number alone, at these open sizes.
/// Errors: an input is not a tensor, or has sizes that do not follow from these.
Result<std::vector<NamedValue>> fill_inputs(const fbs::FunctionT& function, std::span<const int64_t> sizes);

/// Fills an input of a function at the sizes that the program was measured with.
Result<Tensor> fill_input(const fbs::ValueT& value, uint64_t seed);

/// Returns the inputs of a function: those that are given, and the others filled.
Result<std::vector<NamedValue>> complete_inputs(const fbs::FunctionT& function,
                                                std::span<const NamedValue> given);

/// Checks that each of the inputs that are given is one of some function.
Status check_inputs(const fbs::ProgramT& program, std::span<const NamedValue> given);

/// Runs a function and returns deep copies of all outputs, so that the next run leaves them alone. Elements
/// of a value that is not a tensor are values of their own.
Result<std::vector<NamedValue>> run_on_inputs(Session& session, const fbs::FunctionT& function,
                                              const std::vector<NamedValue>& inputs);

}  // namespace intarsia
