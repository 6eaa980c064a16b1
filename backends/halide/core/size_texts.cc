#include "backends/halide/core/size_texts.h"

#include "graph/parse_dim.h"
#include "graph/text_words.h"

namespace intarsia::halide {

std::string print_size(const Dim& size) { return size.print(print_word); }

std::vector<std::string> print_sizes(const SymbolicShape& sizes) {
  std::vector<std::string> texts;
  for (const Dim& size : sizes) texts.push_back(print_size(size));
  return texts;
}

Dim parse_size(const std::string& text) {
  TextScanner scanner(text);
  Result<Dim> size = parse_expression(scanner);
  INTARSIA_CHECK(size.has_value());
  return *std::move(size);
}

SymbolicShape parse_sizes(const std::vector<std::string>& texts) {
  SymbolicShape sizes;
  for (const std::string& text : texts) sizes.push_back(parse_size(text));
  return sizes;
}

}  // namespace intarsia::halide
