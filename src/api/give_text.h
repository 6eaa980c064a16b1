// Texts that calls of the C API give out.
#pragma once

#include <string>

namespace intarsia::api {

/// A copy that is the caller's, who frees it with intarsia_text_release; nothing when `to` is null.
void give_text(const std::string& text, char** to);

}  // namespace intarsia::api
