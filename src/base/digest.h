// XXH3 (64 bit): finds damage, not malice.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace intarsia {

uint64_t digest_bytes(std::span<const std::byte> bytes);
uint64_t digest_bytes(std::string_view bytes);

/// The digest of the concatenated pieces.
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
