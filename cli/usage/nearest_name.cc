#include "cli/usage/nearest_name.h"

#include <algorithm>

namespace {

constexpr size_t shortest = 3;  // letters; anything is near a shorter word

/// Computes the optimal string alignment distance (Damerau 1964), row by row.
size_t count_edits(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> least(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      const size_t replaced = least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      least[i][j] = std::min({replaced, least[i - 1][j] + 1, least[i][j - 1] + 1});
      const bool are_exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (are_exchanged) least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  }
  return least[a.size()][b.size()];
}

std::string letters_of(const std::string& name) {
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

bool begins_with(const std::string& text, const std::string& begin) { return text.rfind(begin, 0) == 0; }

}  // namespace

std::string nearest_name(const std::string& word, const std::vector<std::string>& names) {
  constexpr size_t longest = 64;  // letters of a word that is worth comparing
  const std::string letters = letters_of(word);
  if (letters.size() < shortest || letters.size() > longest) return {};
  std::string nearest;
  size_t fewest = std::max<size_t>(letters.size() / 3, 1) + 1;
  for (const std::string& name : names) {
    const std::string other = letters_of(name);
    if (other.size() < shortest) continue;
    const bool is_part = begins_with(letters, other) || begins_with(other, letters);
    const size_t edits = is_part ? 1 : count_edits(letters, other);  // counts like one wrong letter
    if (edits < fewest) {
      fewest = edits;
      nearest = name;
    }
  }
  return nearest;
}
