#include "backends/halide/schedule/kernel_name.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace intarsia::halide {

std::string name_of(const Kernel& kernel, bool checks) {
  const std::string text = fmt::format("{}{}", checks ? "checks\n" : "", kernel.text());
  const XXH128_hash_t digest = XXH3_128bits(text.data(), text.size());
  return fmt::format("intarsia_{:016x}{:016x}", digest.high64, digest.low64);
}

}  // namespace intarsia::halide
