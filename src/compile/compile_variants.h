// Programs for several CPUs.
#pragma once

#include "compile/compile_precision.h"

namespace intarsia {

/// Compiles the model once for each CPU of the request, and writes the program that has all of them. Errors
/// name the CPU.
Result<CompileResult> compile_variants(const CompileRequest& request, const CompileServices& services,
                                       const Compile& compile);

}  // namespace intarsia
