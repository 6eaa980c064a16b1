// Processors that code can be generated for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/architecture.h"
#include "base/dtype.h"
#include "base/result.h"

namespace intarsia {

/// Returns the features, by GCC's names, that a machine needs to load code of a resolved level.
std::vector<std::string> features_of_cpu_level(const std::string& level);

/// Kind of processor that multiplies numbers of 8 bits, and from `sapphire_rapids` on of bf16, and sums
/// neighbors in one instruction. Code for `avx_vnni` (Alder Lake) and `avx512_vnni` (Cascade Lake) has this
/// instruction beyond its level; that for the others may have any of the processors that LLVM has in mind.
/// `neon` (sdot) belongs to levels of AArch64. `amx` is Sapphire Rapids with tile registers, which virtual
/// machines and old kernels of Linux hide.
enum class DotProducts : uint8_t { none, neon, avx_vnni, avx512_vnni, sapphire_rapids, zen4, amx };

/// Returns true if one instruction also multiplies and sums numbers of bf16.
constexpr bool multiplies_bf16(DotProducts kind) { return kind >= DotProducts::sapphire_rapids; }

/// Returns the kind of this machine's processor.
DotProducts dot_products();

/// L2 cache of a core where the processor that runs the code is not known.
inline constexpr int64_t typical_l2_bytes = 1024 * 1024;

/// What code may use: a level (of the x86-64 psABI "x86-64-v2" to "x86-64-v4"; "armv8-a", "armv7-a+neon",
/// "rv64gcv"), which belongs to one architecture, and what a kind of processor has besides.
struct CodeTarget {
  std::string level;
  DotProducts dot_products = DotProducts::none;
  Arch arch = Arch::x86_64;
  int vector_bytes = 16;
  int registers = 16;                   // vector registers
  int64_t l2_bytes = typical_l2_bytes;  // L2 cache of a core

  std::string text() const;  // "x86-64-v4", "x86-64-v4 with amx"
};

/// Resolves the name of a processor: "native", which is this machine's, a level, or one such as
/// "sapphirerapids" or "cortex-a53" as compilers name them, and all later ones that have the same
/// instructions.
Result<CodeTarget> resolve_cpu(const std::string& name);

/// Returns the architecture of a resolved level.
Arch arch_of_level(const std::string& level);

/// Returns the least level of an architecture.
std::string base_level(Arch arch);

/// Reads names of processors of an architecture between commas, the most demanding first. Of two that stand
/// for the same target, "native" remains; of an architecture other than this machine's, it is the least
/// level. Errors: an unknown or an empty name, one of another architecture, the same one twice.
Result<std::vector<std::string>> read_cpus(const std::string& text, Arch arch);

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
