// Barrier for exceptions, at the boundary of the library and of its threads.
#pragma once

#include <exception>
#include <new>

#include "base/result.h"

namespace intarsia {

/// Returns what `body` returns. An exception that escapes it becomes an error; if memory has run out, making
/// that error allocates none.
template <typename Body>
Status caught(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return tl::unexpected<Error>(
        Error{"out of memory", ErrorKind::out_of_memory});  // short enough for the string's inline buffer
  } catch (const std::exception& error) {
    try {
      return fail(ErrorKind::internal, "internal error: {}", error.what());
    } catch (...) {
      return tl::unexpected<Error>(Error{"out of memory", ErrorKind::out_of_memory});
    }
  } catch (...) {
    return tl::unexpected<Error>(Error{"internal error", ErrorKind::internal});
  }
}

}  // namespace intarsia
