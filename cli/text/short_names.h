// Fitting of texts into columns.
#pragma once

#include <map>
#include <string>
#include <vector>

/// Counts the characters of UTF-8 text.
size_t count_characters(const std::string& text);

/// Fits text into `width` columns, filled with spaces; a longer text loses a part before its end:
/// "conv…olution2".
std::string fit(const std::string& text, size_t width);

/// Shortens paths of names so that they stay different: the parts that most names have are dropped first.
///   "net/block4_conv2/BiasAdd"  =>  "…/block4_conv2/…"  =>  "block4_conv2"
class NameShortener {
 public:
  explicit NameShortener(const std::vector<std::string>& names);
  /// Shortens a name to at most `width` columns, unless a single part has more.
  std::string shorten(const std::string& name, size_t width) const;

 private:
  std::map<std::string, size_t> counts_;  // number of occurrences of a part
};
