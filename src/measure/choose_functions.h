// Choice among several compiled forms of a user's function, by measurement.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compile/compile_request.h"
#include "compile/export_functions.h"
#include "device/executable.h"

namespace intarsia {

/// Returns one object of each name, in the order of the names: of several, that whose function takes the
/// least time here, with open sizes as in export_functions(). Times are kept in the table of costs. An object
/// that does not run, or whose values differ from those of the others (the first is right where votes are
/// evenly divided), is left out. With Tune::off the first is taken. `is_cancelled` (may be empty) is polled.
/// Error: no object of a name runs.
Result<std::vector<FunctionObject>> choose_functions(std::vector<FunctionObject> objects,
                                                     const FunctionCompiler& compiler,
                                                     std::span<const RunBackend> backends,
                                                     const CompileRequest& request,
                                                     const std::function<bool()>& is_cancelled);

}  // namespace intarsia
