// Texts that calls of the C API return.
#pragma once

#include <string>

namespace intarsia::api {

/// A copy that the caller owns and frees with intarsia_text_release; nothing if `to` is null.
void give_text(const std::string& text, char** to);

}  // namespace intarsia::api
