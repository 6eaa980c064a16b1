#include "base/files/cache_folder.h"

#include <cstdlib>

namespace intarsia {

std::string user_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0)
    return std::string(cache) + "/intarsia";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0)
    return std::string(home) + "/.cache/intarsia";
  return {};
}

std::string cache_folder(const std::string& asked) { return asked.empty() ? user_cache_folder() : asked; }

}  // namespace intarsia
