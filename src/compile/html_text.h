// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace intarsia {

/// As content of an element or of a quoted attribute. Names come from files: what would be markup is escaped,
/// control characters become spaces, and what is not UTF-8 becomes "\xff".
std::string escape_html(std::string_view text);

/// At most so many characters, of which the last is then an ellipsis; not escaped yet.
std::string shorten(std::string_view text, size_t most);
/// The same of a name, whose end tells most: "…block4_out/Relu:0".
std::string shorten_name(std::string_view name, size_t most);

}  // namespace intarsia
