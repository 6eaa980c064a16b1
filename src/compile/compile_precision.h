// Compiles whose products of f32 may round their factors.
#pragma once

#include <functional>

#include "compile/compile_model.h"

namespace intarsia {

using Compile = std::function<Result<CompileResult>(const CompileRequest&)>;

/// Compiles the model with rounded and with exact products, runs both and measures the error of the first,
/// which ships whatever the error is where the request names a type; else the first type does, of bf16 and
/// f16, whose error the request allows. Where the processor has no such products, or nothing here can run
/// programs, only one program is compiled.
Result<CompileResult> compile_in_precision(const CompileRequest& request, const CompileServices& services,
                                           const Compile& compile);

}  // namespace intarsia
