// Strings inside TensorFlow's tensors: the 24 bytes of tsl/platform/ctstring_internal.h, which are part of
// its stable ABI but whose functions no library exports.
#pragma once

#include <cstdint>
#include <string_view>

namespace intarsia::op {

/// String of a tensor. The lowest two bits of the first byte tell where its characters are, the others are
/// the lowest of its size.
class TensorString {
 public:
  std::string_view text() const;
  /// Sets the characters of a string that is empty. Throws std::bad_alloc.
  void set(std::string_view text);

 private:
  enum : unsigned char { in_place, allocated, at_offset, elsewhere };
  static constexpr size_t max_in_place = 22;
  struct Allocated {  // also `elsewhere`, which has no capacity
    uint64_t size = 0, capacity = 0;
    char* data = nullptr;  // from malloc(), with a zero at its end
  };
  struct Elsewhere {
    uint64_t size = 0;
    const char* data = nullptr;
  };
  struct AtOffset {
    uint32_t size = 0, offset = 0;  // of the characters, from here
  };
  alignas(8) unsigned char bytes_[24];
};

}  // namespace intarsia::op
