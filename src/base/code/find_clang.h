// Clang, which compiles code for processors that other compilers of ours do not know.
#pragma once

#include <string>

#include "base/result.h"

namespace intarsia {

/// Version of Clang that reads what LLVM's text of Halide 21 becomes, and that is in Debian 12.
inline constexpr int clang_version = 19;

/// Returns the name of that version on PATH: "clang-19", or "clang" where it is that. `purpose` is what it is
/// wanted for: "code for armv7e-m". Errors: there is none, or only another version.
Result<std::string> find_clang(const std::string& purpose);

}  // namespace intarsia
