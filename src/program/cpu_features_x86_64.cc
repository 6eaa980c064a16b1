#include <optional>

#include "base/cpu_level.h"
#include "program/verify_machine.h"

namespace intarsia {
namespace {

// A list of literals, as the builtin takes nothing else.
#define FEATURES(FEATURE)                                                                                    \
  FEATURE("sse3")                                                                                            \
  FEATURE("ssse3")                                                                                           \
  FEATURE("sse4.1") FEATURE("sse4.2") FEATURE("popcnt") FEATURE("avx") FEATURE("avx2") FEATURE("fma")        \
      FEATURE("f16c") FEATURE("bmi") FEATURE("bmi2") FEATURE("lzcnt") FEATURE("avx512f") FEATURE("avx512cd") \
          FEATURE("avx512bw") FEATURE("avx512dq") FEATURE("avx512vl") FEATURE("avx512vnni")                  \
              FEATURE("avx512bf16") FEATURE("avx512vbmi") FEATURE("avx512vbmi2") FEATURE("avx512ifma")       \
                  FEATURE("avx512bitalg") FEATURE("avx512vpopcntdq") FEATURE("avx512fp16")                   \
                      FEATURE("avxvnni") FEATURE("gfni") FEATURE("vaes") FEATURE("vpclmulqdq")               \
                          FEATURE("sse4a") FEATURE("x86-64") FEATURE("x86-64-v2") FEATURE("x86-64-v3")       \
                              FEATURE("x86-64-v4")

constexpr const char* names[] = {
#define NAME(name) name,
    FEATURES(NAME) "amx-tile", "amx-bf16", "amx-int8"
#undef NAME
};

/// Returns whether the CPU has a feature; nullopt if its name is unknown.
std::optional<bool> find_feature(const std::string& feature) {
#define ANSWER(name) \
  if (feature == name) return __builtin_cpu_supports(name) != 0;
  FEATURES(ANSWER)
#undef ANSWER
  if (feature == "amx-tile" || feature == "amx-bf16" || feature == "amx-int8") return allow_amx();
  return std::nullopt;
}

}  // namespace

Result<bool> cpu_has(const std::string& feature) {
  const std::optional<bool> found = find_feature(feature);
  if (found) return *found;
  return fail(ErrorKind::unsupported,
              "it needs the CPU feature '{}', which this Intarsia does not know: update Intarsia", feature);
}

std::vector<std::string> cpu_features() {
  std::vector<std::string> present;
  for (const char* name : names)
    if (find_feature(name).value_or(false)) present.emplace_back(name);
  return present;
}

#undef FEATURES

}  // namespace intarsia
