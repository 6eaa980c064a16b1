// Compiles whose products of f32 may round their factors.
#pragma once

#include <functional>

#include "compile/compile_model.h"

namespace intarsia {

using Compile = std::function<Result<CompileResult>(const CompileRequest&)>;

/// Compiles the model twice, with rounded and with exact products, runs both and measures the error of the
/// first, which ships if the request allows that error, or whatever it is where it asks for bf16. Where the
/// processor has no products of bf16, or nothing here can run programs, only one program is compiled.
Result<CompileResult> compile_in_precision(const CompileRequest& request, const CompileServices& services,
                                           const Compile& compile);

}  // namespace intarsia
