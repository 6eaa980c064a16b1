// Architectures of processors that code can be generated for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace intarsia {

/// Those of the M profile (Cortex-M) are last.
enum class Arch : uint8_t { x86_64, aarch64, armv7, riscv64, armv7e_m, armv8_1_m };

/// Returns the name that programs have: "x86_64".
const char* arch_name(Arch arch);

/// Reads the name of an architecture; x86_64 is also "x86-64".
Result<Arch> read_arch(const std::string& name);

/// Checks whether it is one of microcontrollers: no system loads programs there, and code is linked with an
/// application's.
constexpr bool is_of_microcontrollers(Arch arch) { return arch >= Arch::armv7e_m; }

/// Returns the bytes of an address in a program for it.
constexpr int pointer_bytes(Arch arch) { return arch == Arch::armv7 || is_of_microcontrollers(arch) ? 4 : 8; }

/// Returns the architecture that this library was built for; nullopt if no code can be generated for it.
std::optional<Arch> this_arch();

}  // namespace intarsia
