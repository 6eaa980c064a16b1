// What stands behind the C API's opaque pointers.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "include/intarsia/intarsia.h"
#include "runtime/session.h"

struct intarsia_error {
  std::string message;
};

struct intarsia_program {
  std::shared_ptr<const intarsia::LoadedProgram> loaded;
  std::once_flag text_made;
  std::string text;
};

namespace intarsia::api {

/// A C++ error as a C one; null when the status is good. No exception leaves the library: running out of
/// memory is an error like others.
template <typename Body>
intarsia_error* guarded(Body body) noexcept {
  try {
    const Status status = body();
    return status ? nullptr : new intarsia_error{status.error().message};
  } catch (const std::bad_alloc&) {
    return new intarsia_error{"out of memory"};
  } catch (const std::exception& error) {
    return new intarsia_error{std::string("internal error: ") + error.what()};
  }
}

/// Copies as much of `made` as the caller's header knows.
template <typename Info>
Status fill(Info* info, Info made, size_t least) {
  if (info == nullptr) return fail("no struct to fill in");
  const size_t size = info->struct_size;
  if (size < least)
    return fail("struct_size is {}, want at least {}: set it to sizeof of the struct", size, least);
  std::memcpy(info, &made, std::min(size, sizeof(Info)));
  info->struct_size = size;
  return {};
}

}  // namespace intarsia::api
