// Whether this machine can run a program's code.
#pragma once

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

/// "x86_64", "aarch64", "riscv64": what this library was built for.
const char* machine_arch();

/// Whether the CPU has a feature by its GCC name ("avx2", "x86-64-v3"). An unknown name is an error.
Result<bool> cpu_has(const std::string& feature);

/// Architecture and CPU features. A program without native code (arch empty) runs anywhere.
Status verify_machine(const fbs::ProgramT& program);

}  // namespace intarsia
