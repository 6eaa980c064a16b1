// Reading of files that may be damaged.
#pragma once

#include <new>
#include <stdexcept>

#include "base/protobuf.h"
#include "base/result.h"

namespace intarsia::tensorflow {

/// Runs `read`, whose readers throw on damaged bytes; `what` is the kind of the file.
template <typename Read>
auto guarded(const char* what, Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const protozero::exception& error) {
    return fail("is not a valid {}: damaged protobuf ({})", what, error.what());
  } catch (const std::length_error& error) {
    return fail("{}", error.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "does not fit in memory");
  }
}

}  // namespace intarsia::tensorflow
