#include "base/architecture.h"

#include <algorithm>
#include <iterator>

namespace intarsia {
namespace {

constexpr const char* arch_names[] = {"x86_64", "aarch64", "armv7", "riscv64", "armv7e-m", "armv8.1-m.main"};

}  // namespace

const char* arch_name(Arch arch) { return arch_names[static_cast<size_t>(arch)]; }

Result<Arch> read_arch(const std::string& name) {
  if (name == "x86-64") return Arch::x86_64;
  const auto* const found = std::ranges::find(arch_names, name);
  if (found == std::end(arch_names))
    return fail("--arch {}: want x86-64, aarch64, armv7, riscv64, armv7e-m or armv8.1-m.main", name);
  return static_cast<Arch>(found - std::begin(arch_names));
}

std::optional<Arch> this_arch() {
#if defined(__x86_64__)
  return Arch::x86_64;
#elif defined(__aarch64__)
  return Arch::aarch64;
#elif defined(__arm__) && __ARM_ARCH == 7
  return Arch::armv7;
#elif defined(__riscv) && __riscv_xlen == 64
  return Arch::riscv64;
#else
  return std::nullopt;
#endif
}

}  // namespace intarsia
