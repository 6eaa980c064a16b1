// Objects of Halide generators that a library of the user registers.
#pragma once

#include "target/function_compiler.h"

namespace intarsia::halide {

/// Compiles generators in a process of its own, as FunctionCompiler::generate.
Result<std::vector<FunctionObject>> generate_objects(const GeneratorRequest& request);

}  // namespace intarsia::halide
