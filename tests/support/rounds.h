// Length of tests that could run forever: INTARSIA_ROUNDS=N makes them N times as long (`make soak`).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace intarsia {

/// Returns 1 unless the environment asks for more.
inline uint32_t rounds() {
  const char* text = std::getenv("INTARSIA_ROUNDS");
  return text == nullptr ? 1 : static_cast<uint32_t>(std::max(std::atoi(text), 1));
}

}  // namespace intarsia
