// Folder that keeps measurements and built code for later runs.
#pragma once

#include <string>

namespace intarsia {

/// Returns $XDG_CACHE_HOME/intarsia or ~/.cache/intarsia; empty when neither is known.
std::string user_cache_folder();

}  // namespace intarsia
