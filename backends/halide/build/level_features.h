// Halide's targets for CPU levels.
#pragma once

#include <Halide.h>

#include <string>
#include <vector>

#include "base/cpu_level.h"

namespace intarsia::halide {

/// Returns the features that code for a level ("x86-64-v3") may use.
inline std::vector<Halide::Target::Feature> features_of_level(const std::string& level) {
  using Halide::Target;
  if (level == "armv8.2-a+dotprod") return {Target::ARMDotProd};
  if (level.starts_with("rv64")) return {Target::RVV};
  if (is_of_microcontrollers(arch_of_level(level))) return {Target::NoNEON};
  if (!level.starts_with("x86-64")) return {};
  std::vector<Target::Feature> features{Target::SSE41};
  if (level != "x86-64-v2")
    features.insert(features.end(), {Target::AVX, Target::AVX2, Target::FMA, Target::F16C});
  if (level == "x86-64-v4") features.insert(features.end(), {Target::AVX512, Target::AVX512_Skylake});
  return features;
}

/// Returns the target for code of a level that may also use other features.
inline Halide::Target make_target(const std::string& level,
                                  const std::vector<Halide::Target::Feature>& others) {
  using Halide::Target;
  std::vector<Target::Feature> features = features_of_level(level);
  features.insert(features.end(), others.begin(), others.end());
  switch (arch_of_level(level)) {
    case Arch::aarch64:
      return {Target::Linux, Target::ARM, 64, features};
    case Arch::armv7:
      return {Target::Linux, Target::ARM, 32, features};
    case Arch::riscv64:
      return {Target::Linux, Target::RISCV, 64, Target::ProcessorGeneric, features, 128};
    case Arch::armv7e_m:
    case Arch::armv8_1_m:
      return {Target::NoOS, Target::ARM, 32, features};
    case Arch::x86_64:
      break;
  }
  return {Target::Linux, Target::X86, 64, features};
}

}  // namespace intarsia::halide
