// Levels of the x86-64 psABI that code can be generated for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Resolves "native" to the highest level that this machine supports; the other names ("x86-64-v2",
/// "x86-64-v3", "x86-64-v4") stay. On other architectures "native" becomes "generic", the only level there.
Result<std::string> resolve_cpu_level(const std::string& name);

/// Returns the features, by GCC's names, that a machine needs to load code of a resolved level.
std::vector<std::string> features_of_cpu_level(const std::string& level);

/// Kind of processor that multiplies numbers of 8 and 16 bits and sums neighbors in one instruction. Code for
/// one may have any instruction of the processors that LLVM has in mind; `amx` is Sapphire Rapids with tile
/// registers, which virtual machines and old kernels of Linux hide.
enum class DotProducts : uint8_t { none, sapphire_rapids, zen4, amx };

/// Returns the kind of this machine's processor.
DotProducts dot_products();

/// Returns why code for a level has no products of bf16; empty if it has them.
std::string why_no_bf16(const std::string& cpu);

/// Asks Linux for the tile registers of Advanced Matrix Extensions (AMX), once for all threads of the process.
/// Returns false where the processor or the system has none for bf16 and integers of 8 bits.
bool allow_amx();

/// Returns the features, by GCC's names, of code for that kind, besides those of x86-64-v4.
std::vector<std::string> features_of_dot_products(DotProducts kind);

}  // namespace intarsia
