#include <algorithm>
#include <iterator>

#include "base/cpu_level.h"
#include "program/verify_machine.h"

namespace intarsia {
namespace {

struct Feature {
  const char* name;
  bool (*is_present)();
};

// Spells each name twice, as the builtin takes only literals.
#define FEATURE(name) {name, [] { return __builtin_cpu_supports(name) != 0; }}
constexpr Feature features[] = {
    FEATURE("sse3"),         FEATURE("ssse3"),      FEATURE("sse4.1"),       FEATURE("sse4.2"),
    FEATURE("popcnt"),       FEATURE("avx"),        FEATURE("avx2"),         FEATURE("fma"),
    FEATURE("f16c"),         FEATURE("bmi"),        FEATURE("bmi2"),         FEATURE("lzcnt"),
    FEATURE("avx512f"),      FEATURE("avx512cd"),   FEATURE("avx512bw"),     FEATURE("avx512dq"),
    FEATURE("avx512vl"),     FEATURE("avx512vnni"), FEATURE("avx512bf16"),   FEATURE("avx512vbmi"),
    FEATURE("avx512vbmi2"),  FEATURE("avx512ifma"), FEATURE("avx512bitalg"), FEATURE("avx512vpopcntdq"),
    FEATURE("avx512fp16"),   FEATURE("avxvnni"),    FEATURE("gfni"),         FEATURE("vaes"),
    FEATURE("vpclmulqdq"),   FEATURE("sse4a"),      FEATURE("x86-64"),       FEATURE("x86-64-v2"),
    FEATURE("x86-64-v3"),    FEATURE("x86-64-v4"),  {"amx-tile", allow_amx}, {"amx-bf16", allow_amx},
    {"amx-int8", allow_amx},
};
#undef FEATURE

}  // namespace

Result<bool> cpu_has(const std::string& feature) {
  const Feature* found = std::ranges::find(features, feature, &Feature::name);
  if (found != std::end(features)) return found->is_present();
  return fail(ErrorKind::unsupported,
              "it needs the CPU feature '{}', which this Intarsia does not know: update Intarsia", feature);
}

std::vector<std::string> cpu_features() {
  std::vector<std::string> present;
  for (const Feature& feature : features)
    if (feature.is_present()) present.emplace_back(feature.name);
  return present;
}

}  // namespace intarsia
