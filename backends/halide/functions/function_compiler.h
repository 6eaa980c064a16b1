// Functions that users wrote with Halide, and compiled, for programs.
#pragma once

#include "target/function_compiler.h"

namespace intarsia::halide {

FunctionCompiler make_function_compiler();

}  // namespace intarsia::halide
