// Names of kernels' code.
#pragma once

#include <string>

#include "backends/halide/abi/kernel_symbol.h"
#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// Returns "intarsia_<digest of the text>": kernels with equal text have equal names. `checks` tells whether
/// the code has Halide's asserts and bounds checks.
std::string name_of(const Kernel& kernel, bool checks);

/// Returns the forms of a kernel's inputs, then of its output as the code sees it.
std::vector<ArgumentForm> argument_forms(const Kernel& kernel, const Argument& output);
/// Returns the same for a kernel with open sizes.
std::vector<OpenArgumentForm> open_argument_forms(const Kernel& kernel, const Argument& output);

/// Returns the end of the symbol of a kernel's code (kernel_symbol.h).
std::string symbol_ending(const Kernel& kernel, const Argument& output);

}  // namespace intarsia::halide
