// Location of this code.
#pragma once

#include <filesystem>

namespace intarsia {

/// Returns the library or program that contains this code; files installed with it are next to it. Empty if
/// the system does not tell.
std::filesystem::path own_file();

}  // namespace intarsia
