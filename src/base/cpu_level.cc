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

}  // namespace intarsia
