// Features of CPU levels, as Halide names them.
#pragma once

#include <Halide.h>

#include <string>
#include <vector>

namespace intarsia::halide {

/// Returns the features that code for a level ("x86-64-v3") may use.
inline std::vector<Halide::Target::Feature> features_of_level(const std::string& level) {
  using Halide::Target;
  std::vector<Target::Feature> features{Target::SSE41};
  if (level != "x86-64-v2")
    features.insert(features.end(), {Target::AVX, Target::AVX2, Target::FMA, Target::F16C});
  if (level == "x86-64-v4") features.insert(features.end(), {Target::AVX512, Target::AVX512_Skylake});
  return features;
}

}  // namespace intarsia::halide
