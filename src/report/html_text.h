// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace intarsia {

/// Escapes text for use in an element or a quoted attribute. Names come from files: markup is escaped,
/// control characters become spaces, and bytes that are not UTF-8 become "\xff".
std::string escape_html(std::string_view text);

/// Shortens text to at most `most` characters, the last of which is then an ellipsis. Does not escape.
std::string shorten(std::string_view text, size_t most);
/// Shortens a name by cutting its start, since its end tells most: "…block4_out/Relu:0".
std::string shorten_name(std::string_view name, size_t most);

}  // namespace intarsia
