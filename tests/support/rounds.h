// Length of tests that could run forever: INTARSIA_ROUNDS=N makes them N times as long (`make soak`).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>

namespace intarsia {

/// Returns 1 unless the environment asks for more.
inline uint32_t rounds() {
  const char* text = std::getenv("INTARSIA_ROUNDS");
  return text == nullptr ? 1 : static_cast<uint32_t>(std::max(std::atoi(text), 1));
}

/// Returns 0 for about half of all names and 1 for the others: a case of many is tried in one of two forms,
/// by its name, and in both only with more rounds.
inline int form_of(std::string_view name) {
  return static_cast<int>(std::hash<std::string_view>()(name) % 2);
}

}  // namespace intarsia
