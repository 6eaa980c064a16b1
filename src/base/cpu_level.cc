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

// Lists what LLVM's target of such code assumes together, as processors have them.
std::vector<std::string> dot_product_features() {
  return {"avx512vnni", "avx512bf16",   "avx512vbmi",     "avx512vbmi2",
          "avx512ifma", "avx512bitalg", "avx512vpopcntdq"};
}

bool has_dot_products() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("avx512vnni") &&
         __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512ifma") &&
         __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq");
#else
  return false;
#endif
}

}  // namespace intarsia
