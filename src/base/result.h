// Errors as values. A user's mistake is an Error with one message (what, where, got, want, remedy); our own
// bugs are for INTARSIA_CHECK. Callers add context with `with_context`, and `with_kind` sets the kind of an
// error that has none yet.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace intarsia {

/// Kind of an error, for programs; people read the message. The numbers are those of the C API
/// (INTARSIA_ERROR_...).
enum class ErrorKind : uint8_t {
  unknown,  // kind not set yet; API callers get invalid_argument
  invalid_argument,
  not_found,      // file, library or device
  unsupported,    // valid, but not supported here
  corrupt,        // bytes that are not what they claim to be
  version,        // file or library that is too old or too new
  out_of_memory,  // host or device memory
  device_lost,
  busy,  // object in use by another thread
  cancelled,
  internal,   // our own bug
  io,         // system refuses to read, write or start something
  timed_out,  // timeout of the caller expired
  dropped,    // frame dropped by the caller's rules
};

struct Error {
  std::string message;
  ErrorKind kind = ErrorKind::unknown;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// Makes an error: `return fail("node '{}': {}", name, why);`
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{fmt::format(format, std::forward<Args>(args)...)});
}

/// Makes an error with a kind: `return fail(ErrorKind::busy, "the session is in use");`
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{fmt::format(format, std::forward<Args>(args)...), kind});
}

/// Returns the kind for a failed system call: not_found, out_of_memory or io.
ErrorKind kind_of_errno(int error);

/// Sets the kind of an error that has none yet: `with_kind(ErrorKind::corrupt, parse(bytes))`.
template <typename T>
[[nodiscard]] Result<T> with_kind(ErrorKind kind, Result<T> result) {
  if (!result && result.error().kind == ErrorKind::unknown) result.error().kind = kind;
  return result;
}

/// Prefixes the message of a failed result: `with_context(load(path), "{}", path)` gives "<path>: <message>".
template <typename T, typename... Args>
[[nodiscard]] Result<T> with_context(Result<T> result, fmt::format_string<Args...> format, Args&&... args) {
  if (!result)
    result.error().message = fmt::format(format, std::forward<Args>(args)...) + ": " + result.error().message;
  return result;
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace intarsia

/// Unwraps a Result, or returns its error from the enclosing function: `Graph g = TRY(import_model(path));`
#define TRY(...)                                                                                  \
  ({                                                                                              \
    auto try_result_ = (__VA_ARGS__);                                                             \
    if (!try_result_) return ::tl::unexpected<::intarsia::Error>(std::move(try_result_).error()); \
    ::intarsia::internal::take(std::move(try_result_));                                           \
  })

/// Checks an invariant of our own code, never anything that input can violate.
#define INTARSIA_CHECK(condition) \
  ((condition) ? void() : ::intarsia::check_failed(#condition, __FILE__, __LINE__))

namespace intarsia::internal {
template <typename T>
T take(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
}  // namespace intarsia::internal
