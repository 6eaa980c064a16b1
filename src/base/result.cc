#include "base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace intarsia {

ErrorKind kind_of_errno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
      return ErrorKind::not_found;
    case ENOMEM:
      return ErrorKind::out_of_memory;
    default:
      return ErrorKind::io;
  }
}

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "intarsia: internal error: %s does not hold (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace intarsia
