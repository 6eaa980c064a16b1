// Step 9: machine code. Kernels with equal text are compiled once in a process, and their code is the same
// bytes wherever they appear.
#pragma once

#include <string>
#include <vector>

#include "backends/halide/kernel.h"

namespace intarsia::halide {

/// A kernel's code. It exports `intarsia_<digest>_argv`, which takes an array of pointers: to the user
/// context, then to each buffer.
struct EmittedKernel {
  std::string symbol;        // with the _argv at its end
  std::string object_file;   // ELF, relocatable
  Argument output;           // the output buffer as the code sees it
  size_t scratch_bytes = 0;  // most bytes that one task of it holds from halide_malloc at a time
};

struct EmitOptions {
  bool checks = false;  // with Halide's asserts and bounds checks and its own runtime, for tests
};

/// One result a kernel, in order. Compiles with as many threads as the machine has cores.
Result<std::vector<EmittedKernel>> emit_objects(const std::vector<const Kernel*>& kernels, const Isa& isa,
                                                const EmitOptions& options);

}  // namespace intarsia::halide
