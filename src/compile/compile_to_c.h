// Compiles to plain C.
#pragma once

#include "compile/compile_precision.h"

namespace intarsia {

/// Compiles the model to plain C. An ordinary program for this machine is compiled first, without measuring,
/// and run: its inputs and outputs become the test of what is written. Where nothing here can run programs,
/// the test has no runs.
Result<CompileResult> compile_to_c(const CompileRequest& request, const CompileServices& services,
                                   const Compile& compile);

}  // namespace intarsia
