// Objects behind the C API's opaque pointers.
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
  bool is_static = false;  // whether it is never released
};

struct intarsia_program {
  std::shared_ptr<const intarsia::LoadedProgram> loaded;
  // Mutex instead of call_once: if memory runs out, an exception through pthread_once ends the process.
  std::mutex text_mutex;
  std::string text;  // empty until first requested
};

struct intarsia_profile {
  intarsia::Profile profile;
  // Names and operators of nodes, by entry, in the form of the C API.
  std::vector<std::vector<const char*>> nodes, ops;
};

namespace intarsia::api {

/// Error that is returned when there is no memory for another.
extern intarsia_error no_memory_for_error;

/// Returns a C++ error as a C one; null when the status is good. No exception leaves the library: running out
/// of memory is an error like any other.
template <typename Body>
intarsia_error* guarded(Body body) noexcept {
  Status status = with_kind(ErrorKind::invalid_argument, caught(body));
  if (status) return nullptr;
  auto* error = new (std::nothrow) intarsia_error{std::move(status.error().message), status.error().kind};
  return error == nullptr ? &no_memory_for_error : error;
}

/// Makes a profile that the caller owns.
intarsia_profile* make_profile(Profile profile);

}  // namespace intarsia::api
