// What the C API's opaque pointers point to.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/caught.h"
#include "include/intarsia/intarsia.h"
#include "runtime/profile_session.h"
#include "runtime/session.h"

struct intarsia_error {
  std::string message;
  intarsia::ErrorKind kind = intarsia::ErrorKind::internal;
  bool is_static = false;  // and never released
};

struct intarsia_program {
  std::shared_ptr<const intarsia::LoadedProgram> loaded;
  // Not call_once: an exception that passes through pthread_once ends the process when memory has run out.
  std::mutex text_mutex;
  std::string text;  // empty until first requested
};

struct intarsia_profile {
  intarsia::Profile profile;
  // By entry, in the form of the C API.
  std::vector<std::vector<const char*>> nodes, ops;
};

namespace intarsia::api {

/// Returned when there is no memory for another.
inline intarsia_error no_memory_for_error{"out of memory", ErrorKind::out_of_memory, true};

/// A C++ error as a C one; null when the status is good. No exception leaves the library: running out of
/// memory is an error like any other.
template <typename Body>
intarsia_error* guarded(Body body) noexcept {
  Status status = with_kind(ErrorKind::invalid_argument, caught(body));
  if (status) return nullptr;
  auto* error = new (std::nothrow) intarsia_error{std::move(status.error().message), status.error().kind};
  return error == nullptr ? &no_memory_for_error : error;
}

/// Owned by the caller.
intarsia_profile* make_profile(Profile profile);

}  // namespace intarsia::api
