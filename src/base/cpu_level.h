// Processors that code can be generated for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace intarsia {

/// Returns the features, by GCC's names, that a machine needs to load code of a resolved level.
std::vector<std::string> features_of_cpu_level(const std::string& level);

/// Kind of processor that multiplies numbers of 8 bits, and from `sapphire_rapids` on of bf16, and sums
/// neighbors in one instruction. Code for `avx_vnni` (Alder Lake) and `avx512_vnni` (Cascade Lake) has this
/// instruction beyond its level; that for the others may have any of the processors that LLVM has in mind.
/// `amx` is Sapphire Rapids with tile registers, which virtual machines and old kernels of Linux hide.
enum class DotProducts : uint8_t { none, avx_vnni, avx512_vnni, sapphire_rapids, zen4, amx };

/// Returns true if one instruction also multiplies and sums numbers of bf16.
constexpr bool multiplies_bf16(DotProducts kind) { return kind >= DotProducts::sapphire_rapids; }

/// Returns the kind of this machine's processor.
DotProducts dot_products();

/// What code may use: a level of the x86-64 psABI ("x86-64-v2" to "x86-64-v4"; "generic" on other
/// architectures), and what a kind of processor has besides.
struct CodeTarget {
  std::string level;
  DotProducts dot_products = DotProducts::none;

  std::string text() const;  // "x86-64-v4", "x86-64-v4 with amx"
};

/// Resolves the name of a processor: "native", which is this machine's, a level, or one of "alderlake",
/// "cascadelake", "sapphirerapids" and "znver4" as compilers name them, and all later ones that have the same
/// instructions.
Result<CodeTarget> resolve_cpu(const std::string& name);

/// Reads names of processors between commas, the most demanding first. Of two that stand for the same target,
/// "native" remains. Errors: an unknown or an empty name, the same one twice.
Result<std::vector<std::string>> read_cpus(const std::string& text);

/// Checks whether this machine runs code for a processor of this name.
bool runs_here(const std::string& cpu);

/// Returns why code for a processor has no fast products of a type (f32, bf16, or f16 as weights of f32's);
/// empty if it has them.
std::string why_no_products(const std::string& cpu, DType dtype);

/// Asks Linux for the tile registers of Advanced Matrix Extensions (AMX), once for all threads of the
/// process. Returns false where the processor or the system has none for bf16 and integers of 8 bits.
bool allow_amx();

/// Returns the features, by GCC's names, of code for that kind, besides those of its level.
std::vector<std::string> features_of_dot_products(DotProducts kind);

}  // namespace intarsia
