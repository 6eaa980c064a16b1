// UTF-8 checks for text from files: names are printed, written to JSON and become Python strings, which take
// only UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace intarsia {

/// Checks whether a text is well-formed by Unicode's table 3-7: no overlong forms, no surrogates, nothing
/// above U+10FFFF.
bool is_utf8(std::string_view text);

/// Escapes bytes that are not part of a character, as "\xff"; the result is UTF-8.
std::string escape_text(std::string_view text);

/// Checks a text. Error: it is not UTF-8: "WHAT 'a\xff' is not UTF-8, ...".
Status check_utf8(std::string_view text, std::string_view what);

}  // namespace intarsia
