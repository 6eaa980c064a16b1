// Folder that keeps measurements and built code for later runs.
#pragma once

#include <string>

namespace intarsia {

/// Returns $XDG_CACHE_HOME/intarsia or ~/.cache/intarsia; empty when neither is known.
std::string user_cache_folder();
/// Returns the folder that a caller asked for or, if that is empty, the user's.
std::string cache_folder(const std::string& asked);

}  // namespace intarsia
