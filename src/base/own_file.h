// Where we are.
#pragma once

#include <filesystem>

namespace intarsia {

/// The library, or the program, that this code is in: what was installed with it is next to it. Empty when
/// the system does not tell.
std::filesystem::path own_file();

}  // namespace intarsia
