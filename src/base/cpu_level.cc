#include "base/cpu_level.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace intarsia {

Result<std::string> resolve_cpu_level(const std::string& name) {
#if defined(__x86_64__)
  if (name == "x86-64-v2" || name == "x86-64-v3" || name == "x86-64-v4") return name;
  if (name != "native") return fail("--cpu {}: want native, x86-64-v2, x86-64-v3 or x86-64-v4", name);
  if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4";
  if (__builtin_cpu_supports("x86-64-v3")) return "x86-64-v3";
  return "x86-64-v2";
#else
  if (name != "native" && name != "generic") return fail("--cpu {}: want native", name);
  return "generic";
#endif
}

std::vector<std::string> features_of_cpu_level(const std::string& level) {
  if (level == "generic") return {};
  return {level};
}

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
#if defined(__x86_64__)
  if (has_common_features() && __builtin_cpu_supports("avx512fp16") && __builtin_cpu_supports("avxvnni"))
    return allow_amx() ? DotProducts::amx : DotProducts::sapphire_rapids;
  if (has_common_features() && __builtin_cpu_supports("sse4a")) return DotProducts::zen4;
#endif
  return DotProducts::none;
}

std::string why_no_bf16(const std::string& cpu) {
  if (cpu != "native") return "code for a level of processors has no products of bf16: use --cpu native";
  if (dot_products() != DotProducts::none) return "";
  return "this CPU has no avx512bf16, which Intel's have since Sapphire Rapids and AMD's since Zen 4";
}

std::vector<std::string> features_of_dot_products(DotProducts kind) {
  if (kind == DotProducts::none) return {};
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
