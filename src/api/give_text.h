// Texts that calls of the C API return.
#pragma once

#include <string>

namespace intarsia::api {

/// Gives a copy that the caller owns and frees with intarsia_text_release; does nothing if `to` is null.
void give_text(const std::string& text, char** to);

}  // namespace intarsia::api
