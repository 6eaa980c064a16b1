// Features of architectures other than x86, as Linux reports them to each process.
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <algorithm>
#include <iterator>

#include "program/verify_machine.h"

namespace intarsia {
namespace {

struct Feature {
  const char* name;
  unsigned long type;  // of the entry of the auxiliary vector
  unsigned long bit;
};

constexpr Feature features[] = {
#if defined(__aarch64__)
    {"asimd", AT_HWCAP, HWCAP_ASIMD},      {"crc", AT_HWCAP, HWCAP_CRC32},
    {"lse", AT_HWCAP, HWCAP_ATOMICS},      {"fp16", AT_HWCAP, HWCAP_FPHP | HWCAP_ASIMDHP},
    {"rdma", AT_HWCAP, HWCAP_ASIMDRDM},    {"dotprod", AT_HWCAP, HWCAP_ASIMDDP},
    {"fp16fml", AT_HWCAP, HWCAP_ASIMDFHM}, {"sve", AT_HWCAP, HWCAP_SVE},
    {"i8mm", AT_HWCAP2, HWCAP2_I8MM},      {"bf16", AT_HWCAP2, HWCAP2_BF16},
#elif defined(__arm__)
    {"vfpv3", AT_HWCAP, HWCAP_VFPv3},
    {"neon", AT_HWCAP, HWCAP_NEON},
    {"vfpv4", AT_HWCAP, HWCAP_VFPv4},
    {"idiv", AT_HWCAP, HWCAP_IDIVA | HWCAP_IDIVT},
#elif defined(__riscv)
    {"m", AT_HWCAP, 1UL << ('m' - 'a')}, {"a", AT_HWCAP, 1UL << ('a' - 'a')},
    {"f", AT_HWCAP, 1UL << ('f' - 'a')}, {"d", AT_HWCAP, 1UL << ('d' - 'a')},
    {"c", AT_HWCAP, 1UL << ('c' - 'a')}, {"v", AT_HWCAP, 1UL << ('v' - 'a')},
#endif
};

bool has(const Feature& feature) { return (getauxval(feature.type) & feature.bit) == feature.bit; }

}  // namespace

Result<bool> cpu_has(const std::string& feature) {
  const Feature* found = std::ranges::find(features, feature, &Feature::name);
  if (found != std::end(features)) return has(*found);
  return fail(ErrorKind::unsupported,
              "it needs the CPU feature '{}', which this Intarsia does not know: update Intarsia", feature);
}

std::vector<std::string> cpu_features() {
  std::vector<std::string> present;
  for (const Feature& feature : features)
    if (has(feature)) present.emplace_back(feature.name);
  return present;
}

}  // namespace intarsia
