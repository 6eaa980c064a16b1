// What stands behind the C API's opaque pointers.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/caught.h"
#include "include/intarsia/intarsia.h"
#include "runtime/session.h"

struct intarsia_error {
  std::string message;
  bool is_static = false;  // and never released
};

struct intarsia_program {
  std::shared_ptr<const intarsia::LoadedProgram> loaded;
  // Not call_once: an exception that passes through pthread_once ends the process when no memory is left.
  std::mutex text_mutex;
  std::string text;  // empty until it is asked for
};

namespace intarsia::api {

/// Given out when there is no memory for another.
inline intarsia_error no_memory_for_error{"out of memory", true};

/// A C++ error as a C one; null when the status is good. No exception leaves the library: running out of
/// memory is an error like others.
template <typename Body>
intarsia_error* guarded(Body body) noexcept {
  Status status = caught(body);
  if (status) return nullptr;
  auto* error = new (std::nothrow) intarsia_error{std::move(status.error().message)};
  return error == nullptr ? &no_memory_for_error : error;
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
