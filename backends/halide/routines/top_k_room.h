// Room that a TopK needs besides its keys.
#pragma once

namespace intarsia::halide::routines {

inline constexpr int top_k_block = 32;  // keys that are compared together

/// Returns the most entries that are kept at a time: twice as many as wanted, so that each selection among
/// them drops half.
constexpr int top_k_room(int k, int length) {
  const int wanted = (k < length - k ? 2 * k : length) + 2 * top_k_block;
  return wanted < length + top_k_block ? wanted : length + top_k_block;
}

}  // namespace intarsia::halide::routines
