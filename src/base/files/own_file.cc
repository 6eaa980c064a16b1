#include "base/files/own_file.h"

#include <dlfcn.h>

namespace intarsia {

std::filesystem::path own_file() {
  static const char within = 0;
  Dl_info info = {};
  if (dladdr(&within, &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

}  // namespace intarsia
