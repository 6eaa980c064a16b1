#include "base/cpu_level.h"

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

}  // namespace
#endif

DotProducts dot_products() {
#if defined(__x86_64__)
  if (has_common_features() && __builtin_cpu_supports("avx512fp16") && __builtin_cpu_supports("avxvnni"))
    return DotProducts::sapphire_rapids;
  if (has_common_features() && __builtin_cpu_supports("sse4a")) return DotProducts::zen4;
#endif
  return DotProducts::none;
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
  return features;
}

}  // namespace intarsia
