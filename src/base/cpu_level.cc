#include "base/cpu_level.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace intarsia {

namespace {

struct Level {
  const char* name;
  Arch arch;
  int vector_bytes, registers;
  const char* feature;  // feature that a machine needs; empty: all of the architecture have it
  DotProducts dot_products = DotProducts::none;
  int64_t l2_bytes = typical_l2_bytes;  // of processors that are not known
};

/// Memory that blocks of rows should take on microcontrollers, which have little.
constexpr int64_t little_memory = 16 * 1024;

/// Levels, those of one architecture side by side, the least demanding first. For RISC-V, Halide 21 generates
/// invalid or wrong code for vectors that are not dense, so that kernels have single elements, of which LLVM
/// makes vectors. Those of the M profile without Helium have registers of single numbers.
constexpr Level levels[] = {
    {"x86-64-v2", Arch::x86_64, 16, 16, "x86-64-v2"},
    {"x86-64-v3", Arch::x86_64, 32, 16, "x86-64-v3"},
    {"x86-64-v4", Arch::x86_64, 64, 32, "x86-64-v4"},
    {"armv8-a", Arch::aarch64, 16, 32, ""},
    {"armv8.2-a+dotprod", Arch::aarch64, 16, 32, "dotprod", DotProducts::neon},
    {"armv7-a+neon", Arch::armv7, 16, 16, "neon"},
    {"rv64gcv", Arch::riscv64, 1, 32, "v"},
    {"armv7e-m+fp", Arch::armv7e_m, 4, 32, "", DotProducts::none, little_memory},
    {"armv7e-m+fpv5", Arch::armv7e_m, 4, 32, "", DotProducts::none, little_memory},
    {"armv8.1-m.main+mve.fp", Arch::armv8_1_m, 16, 8, "", DotProducts::none, little_memory}};

struct Processor {
  const char* name;
  const char* level;
  DotProducts dot_products = DotProducts::none;
  int64_t l2_bytes = 0;  // part of one core, of a cache that cores share; 0: its level's
};

constexpr Processor processors[] = {{"alderlake", "x86-64-v3", DotProducts::avx_vnni},
                                    {"cascadelake", "x86-64-v4", DotProducts::avx512_vnni},
                                    {"sapphirerapids", "x86-64-v4", DotProducts::amx},
                                    {"znver4", "x86-64-v4", DotProducts::zen4},
                                    {"cortex-a53", "armv8-a", DotProducts::none, 128 * 1024},
                                    {"cortex-a72", "armv8-a", DotProducts::none, 256 * 1024},
                                    {"cortex-a55", "armv8.2-a+dotprod", DotProducts::none, 128 * 1024},
                                    {"cortex-a76", "armv8.2-a+dotprod", DotProducts::none, 512 * 1024},
                                    {"neoverse-n1", "armv8.2-a+dotprod"},
                                    {"cortex-a7", "armv7-a+neon", DotProducts::none, 128 * 1024},
                                    {"cortex-a9", "armv7-a+neon", DotProducts::none, 256 * 1024},
                                    {"cortex-m4", "armv7e-m+fp"},
                                    {"cortex-m7", "armv7e-m+fpv5"},
                                    {"cortex-m55", "armv8.1-m.main+mve.fp"}};

const Level* find_level(const std::string& name) {
  const Level* found = std::ranges::find(levels, name, &Level::name);
  return found == std::end(levels) ? nullptr : found;
}

CodeTarget make_target(const Level& level, DotProducts kind = DotProducts::none, int64_t l2_bytes = 0) {
  return {level.name,      std::max(kind, level.dot_products),       level.arch, level.vector_bytes,
          level.registers, l2_bytes == 0 ? level.l2_bytes : l2_bytes};
}

/// Lists the names of an architecture's processors, or of all.
std::string list_names(std::optional<Arch> arch) {
  std::vector<std::string> names;
  if (!arch || arch == this_arch()) names.emplace_back("native");
  for (const Level& level : levels)
    if (!arch || level.arch == arch) names.emplace_back(level.name);
  for (const Processor& processor : processors)
    if (!arch || find_level(processor.level)->arch == arch) names.emplace_back(processor.name);
  const std::string last = names.back();
  names.pop_back();
  if (names.empty()) return last;
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

}  // namespace

std::vector<std::string> features_of_cpu_level(const std::string& level) {
  const Level* found = find_level(level);
  if (found == nullptr || *found->feature == '\0') return {};
  return {found->feature};
}

Arch arch_of_level(const std::string& level) {
  const Level* found = find_level(level);
  INTARSIA_CHECK(found != nullptr);
  return found->arch;
}

std::string base_level(Arch arch) { return std::ranges::find(levels, arch, &Level::arch)->name; }

#if defined(__x86_64__)
namespace {

bool has_common_features() {
  return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512ifma") &&
         __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq") &&
         __builtin_cpu_supports("gfni") && __builtin_cpu_supports("vaes") &&
         __builtin_cpu_supports("vpclmulqdq");
}

/// Asks for the registers; numbers are those of Linux's asm/prctl.h and of Intel's CPUID leaf 7.
bool ask_for_amx() {
  constexpr unsigned bf16 = 1U << 22, tile = 1U << 24, int8 = 1U << 25, wanted = bf16 | tile | int8;
  constexpr int arch_req_xcomp_perm = 0x1023, xfeature_xtiledata = 18;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & wanted) != wanted) return false;
  return syscall(SYS_arch_prctl, arch_req_xcomp_perm, xfeature_xtiledata) == 0;
}

bool has_dot_products(DotProducts kind) {
  switch (kind) {
    case DotProducts::none:
      return true;
    case DotProducts::neon:
      return false;
    case DotProducts::avx_vnni:
      return __builtin_cpu_supports("x86-64-v3") && __builtin_cpu_supports("avxvnni");
    case DotProducts::avx512_vnni:
      return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni");
    case DotProducts::sapphire_rapids:
      return has_common_features() && __builtin_cpu_supports("avx512fp16") &&
             __builtin_cpu_supports("avxvnni");
    case DotProducts::zen4:
      return has_common_features() && __builtin_cpu_supports("sse4a");
    case DotProducts::amx:
      return has_dot_products(DotProducts::sapphire_rapids) && allow_amx();
  }
  return false;
}

}  // namespace
#else
namespace {

bool has_dot_products(DotProducts kind) { return kind == DotProducts::none; }

}  // namespace
#endif

bool allow_amx() {
#if defined(__x86_64__)
  static const bool is_allowed = ask_for_amx();
  return is_allowed;
#else
  return false;
#endif
}

DotProducts dot_products() {
  constexpr DotProducts best_first[] = {DotProducts::amx, DotProducts::sapphire_rapids, DotProducts::zen4,
                                        DotProducts::avx512_vnni, DotProducts::avx_vnni};
  const DotProducts* best = std::ranges::find_if(best_first, has_dot_products);
  return best == std::end(best_first) ? DotProducts::none : *best;
}

std::string CodeTarget::text() const {
  constexpr const char* kinds[] = {
      "", "", " with avxvnni", " with avx512vnni", " with sapphirerapids", " with znver4", " with amx"};
  return level + kinds[static_cast<size_t>(dot_products)];
}

namespace {

/// Returns the level of this machine's processor; null if no code can be generated for it.
const Level* native_level() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("x86-64-v4")) return find_level("x86-64-v4");
  if (__builtin_cpu_supports("x86-64-v3")) return find_level("x86-64-v3");
#endif
  const std::optional<Arch> arch = this_arch();
  return arch ? find_level(base_level(*arch)) : nullptr;
}

}  // namespace

Result<CodeTarget> resolve_cpu(const std::string& name) {
  if (name == "native") {
    const Level* level = native_level();
    if (level == nullptr) return fail("--cpu native: no code can be generated for this machine");
    return make_target(*level, dot_products());
  }
  if (const Level* level = find_level(name)) return make_target(*level);
  const Processor* found = std::ranges::find(processors, name, &Processor::name);
  if (found == std::end(processors)) return fail("--cpu {}: want {}", name, list_names(std::nullopt));
  return make_target(*find_level(found->level), found->dot_products, found->l2_bytes);
}

namespace {

struct NamedTarget {
  std::string name;
  CodeTarget target;

  auto demands() const { return std::tuple(find_level(target.level), target.dot_products); }
};

/// Returns the items of a list with commas; error: an empty one.
Result<std::vector<std::string>> split_names(const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    if (names.back().empty())
      return fail("--cpu '{}': name {} is empty; want names between commas, as in x86-64-v3,native", text,
                  names.size());
    begin = end + 1;
  }
  return names;
}

/// Resolves the name of a processor of an architecture.
Result<NamedTarget> resolve_of(Arch arch, const std::string& given) {
  const std::string name = given == "native" && this_arch() != arch ? base_level(arch) : given;
  const Result<CodeTarget> target = resolve_cpu(name);
  if (!target) return fail("--cpu {}: want {}", name, list_names(arch));
  if (target->arch != arch)
    return fail("--cpu {}: it is a processor of {}: add --arch {}, or for {} name {}", name,
                arch_name(target->arch), arch_name(target->arch), arch_name(arch), list_names(arch));
  return NamedTarget{name, *target};
}

}  // namespace

Result<std::vector<std::string>> read_cpus(const std::string& text, Arch arch) {
  std::vector<NamedTarget> all;
  for (const std::string& name : TRY(split_names(text))) {
    NamedTarget next = TRY(resolve_of(arch, name));
    if (std::ranges::find(all, next.name, &NamedTarget::name) != all.end())
      return fail("--cpu {}: {} is named twice; name each CPU once", text, next.name);
    all.push_back(std::move(next));
  }
  std::ranges::sort(all, [](const NamedTarget& a, const NamedTarget& b) {
    if (a.demands() != b.demands()) return a.demands() > b.demands();
    return a.name == "native" && b.name != "native";
  });
  std::vector<std::string> names;
  for (size_t i = 0; i < all.size(); ++i)
    if (i == 0 || all[i].demands() != all[i - 1].demands()) names.push_back(all[i].name);
  return names;
}

bool runs_here(const std::string& cpu) {
  const Result<CodeTarget> wanted = resolve_cpu(cpu), here = resolve_cpu("native");
  if (!wanted || !here || wanted->arch != here->arch) return false;
  return has_dot_products(wanted->dot_products) && find_level(wanted->level) <= find_level(here->level);
}

namespace {

std::string why_no_f16(const std::string& cpu, const Result<CodeTarget>& target) {
  if (target && target->arch != Arch::x86_64)
    return fmt::format("code for {} has no weights of f16", arch_name(target->arch));
  if (target && target->level != "x86-64-v2") return "";
  if (cpu == "native") return "this CPU has no f16c, which widens f16";
  return fmt::format("code for {} cannot widen f16: use --cpu x86-64-v3 or a later one", cpu);
}

}  // namespace

std::string why_no_products(const std::string& cpu, DType dtype) {
  if (dtype == DType::f32) return "";
  const Result<CodeTarget> target = resolve_cpu(cpu);
  if (dtype == DType::f16) return why_no_f16(cpu, target);
  if (target && multiplies_bf16(target->dot_products)) return "";
  if (target && target->arch != Arch::x86_64)
    return fmt::format("code for {} has no products of bf16", arch_name(target->arch));
  if (cpu == "native")
    return "this CPU has no avx512bf16, which Intel's have since Sapphire Rapids and AMD's since Zen 4";
  return fmt::format("code for {} has no products of bf16: use --cpu native, sapphirerapids or znver4", cpu);
}

std::vector<std::string> features_of_dot_products(DotProducts kind) {
  if (kind <= DotProducts::neon) return {};
  if (kind == DotProducts::avx_vnni) return {"avxvnni"};
  if (kind == DotProducts::avx512_vnni) return {"avx512vnni"};
  std::vector<std::string> features = {"avx512vnni", "avx512bf16",   "avx512vbmi",      "avx512vbmi2",
                                       "avx512ifma", "avx512bitalg", "avx512vpopcntdq", "gfni",
                                       "vaes",       "vpclmulqdq"};
  if (kind == DotProducts::zen4)
    features.emplace_back("sse4a");
  else
    features.insert(features.end(), {"avx512fp16", "avxvnni"});
  if (kind == DotProducts::amx) features.insert(features.end(), {"amx-tile", "amx-bf16", "amx-int8"});
  return features;
}

}  // namespace intarsia
