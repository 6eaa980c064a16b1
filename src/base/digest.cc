#include "base/digest.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL  // avoids a library to link, and symbol clashes with another copy in the process
#include <xxhash.h>

namespace intarsia {

uint64_t digest_bytes(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
uint64_t digest_bytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string content_digest(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

struct Digest::State {
  XXH3_state_t xxh;
};

Digest::Digest() : state_(new State) { XXH3_64bits_reset(&state_->xxh); }
Digest::~Digest() = default;
void Digest::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
}
uint64_t Digest::value() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace intarsia
