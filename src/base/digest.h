// XXH3 digests: they detect damage, not malice.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace intarsia {

/// Returns a 64-bit digest.
uint64_t digest_bytes(std::span<const std::byte> bytes);
uint64_t digest_bytes(std::string_view bytes);

/// Returns a 128-bit digest as 32 hexadecimal digits, which identifies a text among many.
std::string content_digest(std::string_view text);

/// Incremental 64-bit digest of concatenated pieces.
class Digest {
 public:
  Digest();
  ~Digest();
  void add(std::span<const std::byte> bytes);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace intarsia
