// Error of programs that round the factors of products.
#pragma once

#include <span>
#include <string>

#include "compile/compile_request.h"
#include "device/executable.h"

namespace intarsia {

/// Runs two programs of one model, with rounded and with exact products, on the inputs of the request (others
/// are filled), and returns the largest error of their outputs. Errors: a program does not run, an input has
/// an unknown name or does not fit.
Result<RoundingError> measure_rounding(const std::string& rounded, const std::string& exact,
                                       const CompileRequest& request, std::span<const RunBackend> backends);

}  // namespace intarsia
