// Sanitization of plug-ins' texts before they are printed.
#pragma once

#include <string>
#include <string_view>

namespace intarsia {

/// Replaces control characters, such as line ends and terminal commands, by spaces; drops whole escape
/// sequences of terminals, and spaces at both ends.
std::string one_line(std::string_view text);

}  // namespace intarsia
