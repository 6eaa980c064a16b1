// Where what was measured or built once is kept.
#pragma once

#include <string>

namespace intarsia {

/// $XDG_CACHE_HOME/intarsia or ~/.cache/intarsia; empty when neither is known.
std::string user_cache_folder();

}  // namespace intarsia
