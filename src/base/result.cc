#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace intarsia {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "intarsia: internal error: %s does not hold (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace intarsia
