// Runs whose inputs and outputs are kept.
#pragma once

#include <span>
#include <string>

#include "compile/compile_request.h"
#include "device/executable.h"

namespace intarsia {

/// Runs each function of a program file on the inputs of the request (others are filled), and returns copies
/// of all inputs and outputs. Errors: the program does not run, an input has an unknown name or does not fit.
Result<std::vector<RecordedRun>> record_runs(const std::string& program, const CompileRequest& request,
                                             std::span<const RunBackend> backends);

}  // namespace intarsia
