#include "base/cpu_level.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace intarsia {

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

bool has_dot_products(DotProducts kind) {
  switch (kind) {
    case DotProducts::none:
      return true;
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
      "", " with avxvnni", " with avx512vnni", " with sapphirerapids", " with znver4", " with amx"};
  return level + kinds[static_cast<size_t>(dot_products)];
}

Result<CodeTarget> resolve_cpu(const std::string& name) {
#if defined(__x86_64__)
  if (name == "x86-64-v2" || name == "x86-64-v3" || name == "x86-64-v4") return CodeTarget{name};
  if (name == "alderlake") return CodeTarget{"x86-64-v3", DotProducts::avx_vnni};
  if (name == "cascadelake") return CodeTarget{"x86-64-v4", DotProducts::avx512_vnni};
  if (name == "sapphirerapids") return CodeTarget{"x86-64-v4", DotProducts::amx};
  if (name == "znver4") return CodeTarget{"x86-64-v4", DotProducts::zen4};
  if (name != "native")
    return fail(
        "--cpu {}: want native, x86-64-v2, x86-64-v3, x86-64-v4, alderlake, cascadelake, sapphirerapids or "
        "znver4",
        name);
  if (__builtin_cpu_supports("x86-64-v4")) return CodeTarget{"x86-64-v4", dot_products()};
  if (__builtin_cpu_supports("x86-64-v3")) return CodeTarget{"x86-64-v3", dot_products()};
  return CodeTarget{"x86-64-v2"};
#else
  if (name != "native" && name != "generic") return fail("--cpu {}: want native", name);
  return CodeTarget{"generic"};
#endif
}

namespace {

struct NamedTarget {
  std::string name;
  CodeTarget target;

  auto demands() const { return std::tie(target.level, target.dot_products); }
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

}  // namespace

Result<std::vector<std::string>> read_cpus(const std::string& text) {
  std::vector<NamedTarget> all;
  for (const std::string& name : TRY(split_names(text))) {
    if (std::ranges::find(all, name, &NamedTarget::name) != all.end())
      return fail("--cpu {}: {} is named twice; name each CPU once", text, name);
    all.push_back({name, TRY(resolve_cpu(name))});
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
  if (!wanted || !here) return false;
  // Names of levels sort by what they require.
  return has_dot_products(wanted->dot_products) && wanted->level <= here->level;
}

namespace {

std::string why_no_f16(const std::string& cpu, const Result<CodeTarget>& target) {
  // Names of levels sort by what they require.
  if (target && target->level >= "x86-64-v3") return "";
  if (cpu == "native") return "this CPU has no f16c, which widens f16";
  return fmt::format("code for {} cannot widen f16: use --cpu x86-64-v3 or a later one", cpu);
}

}  // namespace

std::string why_no_products(const std::string& cpu, DType dtype) {
  if (dtype == DType::f32) return "";
  const Result<CodeTarget> target = resolve_cpu(cpu);
  if (dtype == DType::f16) return why_no_f16(cpu, target);
  if (target && multiplies_bf16(target->dot_products)) return "";
  if (cpu == "native")
    return "this CPU has no avx512bf16, which Intel's have since Sapphire Rapids and AMD's since Zen 4";
  return fmt::format("code for {} has no products of bf16: use --cpu native, sapphirerapids or znver4", cpu);
}

std::vector<std::string> features_of_dot_products(DotProducts kind) {
  if (kind == DotProducts::none) return {};
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
