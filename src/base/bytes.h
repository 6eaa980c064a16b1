// Bytes viewed as text, numbers or an address. The casts this takes are confined to this file.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace intarsia {

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::string_view as_text(std::span<const uint8_t> bytes) { return as_text(std::as_bytes(bytes)); }

/// Returns the bytes of one value as they lie in memory.
template <typename T>
std::string_view text_of_value(const T& value) {
  return as_text(std::as_bytes(std::span(&value, 1)));
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span<const char>(text));
}

inline std::span<const uint8_t> as_octets(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}
inline std::span<const uint8_t> as_octets(std::string_view text) { return as_octets(as_bytes(text)); }

inline bool is_aligned(const void* address, size_t alignment) {
  return std::bit_cast<uintptr_t>(address) % alignment == 0;
}

/// Casts an address from the dynamic loader to the function type it is known to have; null stays null.
template <typename Function>
Function as_function(void* address) {
  return std::bit_cast<Function>(address);
}

}  // namespace intarsia
