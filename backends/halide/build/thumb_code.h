// Code for microcontrollers. LLVM's code for 32 bits that Halide generates is in the instructions of the A
// profile (ARM mode), which no Cortex-M runs; Clang makes Thumb-2 of the same code in LLVM's language.
#pragma once

#include <string>

#include "base/result.h"

namespace intarsia::halide {

/// Compiles a module, in the text of Halide's LLVM, to an object for a level: "armv7e-m+fp".
Result<std::string> compile_to_thumb(const std::string& module, const std::string& level);

}  // namespace intarsia::halide
