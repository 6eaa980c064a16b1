// XXH3: finds damage, not malice.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace intarsia {

/// 64 bits.
uint64_t digest_bytes(std::span<const std::byte> bytes);
uint64_t digest_bytes(std::string_view bytes);

/// 128 bits as 32 hexadecimal digits: the name of a text among many.
std::string content_digest(std::string_view text);

/// The digest (64 bits) of the concatenated pieces.
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
