// Checks whether this machine can run a program's code.
#pragma once

#include "base/result.h"
#include "program/program.h"

namespace intarsia {

/// Returns the architecture that this library was built for: "x86_64", "aarch64", "armv7", "riscv64".
const char* machine_arch();

/// Returns whether the CPU has a feature by its GCC name ("avx2", "x86-64-v3"). Errors: an unknown name.
Result<bool> cpu_has(const std::string& feature);

/// Returns the features that the CPU has, of those that cpu_has() knows.
std::vector<std::string> cpu_features();

/// Checks architecture and CPU features. A program without native code (arch empty) runs anywhere.
Status verify_machine(const fbs::ProgramT& program);

/// Returns the features of the program's that this machine lacks. Errors: another architecture, or a feature
/// that is not known.
Result<std::vector<std::string>> missing_features(const fbs::ProgramT& program);

}  // namespace intarsia
